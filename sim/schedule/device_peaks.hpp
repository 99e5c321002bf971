#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;

/// The memory peak of a run on each of the plan's devices (docs/reference/report.md), exact, from the orders alone.
/// None if memory depends on time, because some device has the ready discipline or a stash is swapped.
/// **Shape** by increasing device. **Requires** a plan that covers the graph, and its schedule's program.
/// **Cost** O(layers + edges + replicas) if `ScheduleProgram::reaches_in_flight` holds and memory actions cover all
/// microbatches; O(operations of a period ×
/// stages of a device) for a long run of a pattern; else O(operations of the run).
[[nodiscard]] std::optional<std::vector<std::pair<DeviceId, Bytes>>> device_peaks(const LayerGraph& graph,
                                                                                  const Platform& platform,
                                                                                  const Plan& plan,
                                                                                  const ScheduleProgram& program);

}  // namespace stagecraft
