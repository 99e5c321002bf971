#include "experiments/commands/verbs.hpp"

namespace stagecraft {

const std::vector<const Verb*>& all_verbs() {
  static const std::vector<const Verb*> verbs = {
      &schema_verb,
  };
  return verbs;
}

}  // namespace stagecraft
