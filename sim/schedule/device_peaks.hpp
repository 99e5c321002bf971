#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The most bytes that a run of the plan holds on each of its devices (contract, section 5), to the byte, from the
/// orders alone. None where memory depends on time: where some device takes what is ready first, or a stash is swapped.
/// **Shape** by increasing device. **Requires** a plan that covers the graph, and its schedule's program.
/// **Cost** O(layers + edges + replicas) where `ScheduleProgram::reaches_in_flight`; O(operations of a period × stages
/// of a device) for a long run of a pattern; else O(operations of the run).
[[nodiscard]] std::optional<std::vector<std::pair<DeviceId, Bytes>>> device_peaks(const LayerGraph& graph,
                                                                                  const Plan& plan,
                                                                                  const ScheduleProgram& program);

}  // namespace stagecraft
