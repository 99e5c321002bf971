#pragma once

#include "sim/base/quantity.hpp"

namespace stagecraft::topo_latency {

// Assumed, as in the platforms that come with the program.
inline constexpr Seconds kNvLink{2e-6};
inline constexpr Seconds kPcie{1e-6};
inline constexpr Seconds kHost{5e-6};
inline constexpr Seconds kNic{5e-6};

}  // namespace stagecraft::topo_latency
