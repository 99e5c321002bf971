#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// Whether a microbatch crosses a link between stage `stage` and the next one: they are on different devices.
/// **Requires** stages of one device each.
[[nodiscard]] bool has_cut(const Plan& plan, std::size_t stage);

/// Why the plan's pattern is no order of its work, if so: a sentence for the user. Each stage has exactly one forward
/// and one backward, and so has each cut between consecutive stages on different devices, and no other; the instances
/// of one microbatch start in the order F0, cut 0, F1, …, B1, cut 0, B0, of which the first is in period 0. Where two
/// start together, the one that is listed first counts as the earlier one.
///
/// Then the order cannot deadlock, since period, start and place in the list agree with every dependency. Whether an
/// operation has ended before the next one starts is for a run to show.
/// **Requires** a pattern and stages of one device each. **Cost** O(stages + operations).
[[nodiscard]] std::optional<std::string> pattern_problem(const Plan& plan);

/// The operations of a pattern in the order of one period: by start, those that start together as they are listed.
[[nodiscard]] std::vector<PatternOperation> in_start_order(const Pattern& pattern);

/// Microbatches whose forward on the stage has started and whose backward has not ended, at most, in a long run.
/// **Requires** a sound pattern.
[[nodiscard]] std::int64_t pattern_in_flight(const Pattern& pattern, StageId stage);

/// What the ledger holds at most on every device in a long run of the program's pattern (contract, section 5): exact,
/// since memory depends only on each device's order.
/// **Shape** by increasing device. **Requires** a sound pattern; no swapped layers. **Cost** O(operations × stages of a
/// device).
[[nodiscard]] std::vector<std::pair<DeviceId, Bytes>> pattern_peaks(const LayerGraph& graph, const Plan& plan,
                                                                    const ScheduleProgram& program);

}  // namespace stagecraft
