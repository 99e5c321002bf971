#pragma once

#include "sim/model/measurement.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <cstdint>
#include <optional>

namespace stagecraft {

/// The report of a run that passes `count` times more through a state than `shorter` does, where `longer` passes once
/// more through it (`RepeatedState`). Times, bytes and counts grow by the same with every time. `measurement`: of that
/// run. None if the two runs differ in something that does not grow, such as a memory peak.
/// **Requires** reports of one plan without events, and without windows.
[[nodiscard]] std::optional<Report> extended_report(const Report& shorter, const Report& longer, std::int64_t count,
                                                    const Platform& platform, const Measurement& measurement);

/// The largest difference between a figure of one report and that of the other, as a part of it: of times, bytes of
/// links, memory peaks and most microbatches in flight. What a device spends its time on counts as a part of the
/// measured time. **Requires** reports of one plan.
[[nodiscard]] double largest_difference(const Report& a, const Report& b);

}  // namespace stagecraft
