#pragma once

#include "sim/schedule/schedule_family.hpp"

namespace stagecraft {

/// The number of stages on each device, as the parameter `chunks` of a family.
[[nodiscard]] OptionInfo chunks_parameter();

/// Stage s on device s mod `devices`, as often as there are `chunks`.
[[nodiscard]] Placement round_placement(std::size_t devices, const Options& parameters);

/// One stage on each device from the first to the last, then another one on each from the last to the first: a V, as
/// often as the parameter `waves` says, or once in a family that does not have it.
[[nodiscard]] Placement wave_placement(std::size_t devices, const Options& parameters);

/// Two pipelines: stage s of the first one on device s, of the second one on the device that is as far from the end.
[[nodiscard]] Placement both_ways_placement(std::size_t devices, const Options& parameters);

}  // namespace stagecraft
