#pragma once

#include "sim/base/quantity.hpp"

#include <cmath>
#include <cstdint>

namespace stagecraft {

/// Whole nanoseconds, for times whose sums and multiples have to be exact. Delays are often meant to be exact multiples
/// of a period, and a rounding error would then change a count.
using Ticks = std::int64_t;

inline constexpr double kTicksPerSecond = 1e9;

/// Rounded up; a duration that misses a whole number of ticks by no more than rounding noise counts as that number.
/// **Requires** 0 <= duration < 2^53 ns, about 104 days.
[[nodiscard]] inline Ticks ticks_up(Seconds duration) {
  const double exact = duration.value() * kTicksPerSecond;
  const double nearest = std::round(exact);
  const double noise = 1e-6 + exact * 1e-15;
  return static_cast<Ticks>(exact - nearest > noise ? std::ceil(exact) : nearest);
}

[[nodiscard]] inline Seconds to_seconds(Ticks ticks) { return Seconds(static_cast<double>(ticks) / kTicksPerSecond); }

}  // namespace stagecraft
