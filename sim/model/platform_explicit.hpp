#pragma once

#include "sim/model/platform.hpp"

namespace stagecraft {

/// Adds the devices, links and routes of the explicit form. **Requires** references that are valid.
void build_explicit(Platform& platform, const ExplicitForm& form);

}  // namespace stagecraft
