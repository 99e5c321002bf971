#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// The memory peak of a run on each of the program's devices (docs/reference/report.md), exact, from the orders alone.
/// None if memory depends on time, because some device has the ready discipline or a stash is swapped.
/// **Shape** by increasing device.
/// **Cost** O(replicas) if `ScheduleProgram::reaches_in_flight` holds and memory actions cover all microbatches;
/// O(operations of a period × stages of a device) for a long run of a pattern; else O(operations of the run).
[[nodiscard]] std::optional<std::vector<std::pair<DeviceId, Bytes>>> device_peaks(const LayerGraph& graph,
                                                                                  const ScheduleProgram& program);

}  // namespace stagecraft
