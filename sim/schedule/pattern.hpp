#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/pattern.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;

/// Whether stage `stage` and the next one are on different devices, so that microbatches are transferred between them.
/// **Requires** stages of one device each.
[[nodiscard]] bool has_cut(const Plan& plan, std::size_t stage);

/// A sentence for the user that says why the plan's pattern is not a valid order of its work; none if it is valid.
///
/// In a valid pattern each stage has exactly one forward and one backward, and so has each cut between consecutive
/// stages on different devices; there are no other operations. The instances of one microbatch start in the order F0,
/// cut 0, F1, …, B1, cut 0, B0, and the first of them is in period 0. Of two that start together, the one that is
/// listed first counts as the earlier one.
///
/// Such an order cannot deadlock, because sorting by (period, start, position in the list) agrees with every
/// dependency. Whether an operation has ended before the next one starts is not checked here; a run shows it.
/// **Requires** a pattern and stages of one device each. **Cost** O(stages + operations).
[[nodiscard]] std::optional<std::string> pattern_problem(const Plan& plan);

/// The operations of a pattern by their start in a period; those that start together stay as they are listed.
[[nodiscard]] std::vector<PatternOperation> in_start_order(const Pattern& pattern);

/// The most microbatches whose forward on the stage has started and whose backward has not ended, in a long run.
/// **Requires** a sound pattern.
[[nodiscard]] std::int64_t pattern_in_flight(const Pattern& pattern, StageId stage);

/// The memory peak of every device in a long run of the program's pattern (docs/reference/report.md). It is exact,
/// since memory depends only on each device's order.
/// **Shape** by increasing device. **Requires** a sound pattern; no swapped layers. **Cost** O(operations × stages of a
/// device).
[[nodiscard]] std::vector<std::pair<DeviceId, Bytes>> pattern_peaks(const LayerGraph& graph,
                                                                    const ScheduleProgram& program);

}  // namespace stagecraft
