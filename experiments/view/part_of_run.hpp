#pragma once

#include "experiments/view/ascii_timeline.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// What happened in a part of a run: the operations that overlap it, and what every place held. What a place holds
/// where the part begins is a change at its beginning.
[[nodiscard]] RunRecord part_of(const RunRecord& record, const TimeRange& range);

}  // namespace stagecraft
