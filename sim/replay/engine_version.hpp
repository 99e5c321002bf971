#pragma once

#include <string>

namespace stagecraft {

/// The version of the SimGrid that replays run on, such as `3.32.0`.
[[nodiscard]] std::string simgrid_version();

}  // namespace stagecraft
