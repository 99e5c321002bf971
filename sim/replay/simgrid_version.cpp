#include "sim/replay/engine_version.hpp"

#include <simgrid/engine.h>  // version.h needs what it includes
#include <simgrid/version.h>

namespace stagecraft {

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

}  // namespace stagecraft
