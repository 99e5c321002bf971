#include "experiments/run/build_facts.hpp"

namespace stagecraft {

const char* program_version() { return STAGECRAFT_VERSION; }
const char* source_folder() { return STAGECRAFT_SOURCE_DIR; }

}  // namespace stagecraft
