#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// The time per microbatch with which a run repeats itself, from the ends of its microbatches: each one in the third
/// quarter of the run ends a cycle's time after the one a cycle earlier. A cycle is a whole number of `stride`
/// microbatches, at most a quarter of the run. None if the run does not repeat itself.
/// **Cost** O(microbatches² / stride) at worst; O(microbatches) if the shortest cycle is short.
[[nodiscard]] std::optional<Seconds> repeated_period(const std::vector<Seconds>& ends, std::int64_t stride);

}  // namespace stagecraft
