#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <utility>
#include <vector>

namespace stagecraft {

/// For each device of the plan, increasing, the time that it computes: forwards, backwards, recomputes and optimizer's
/// steps of all its stages, with their overheads. It is that of a flushed iteration, or of an asynchronous run per
/// microbatch on average. Of orders that the user gives with the run all backwards count whole.
/// **Throws** InputError for a device of unknown speed. **Cost** with overheads of passes O(operations of an iteration)
/// where backwards may be split.
[[nodiscard]] std::vector<std::pair<DeviceId, Seconds>> device_loads(const LayerGraph& graph, const Platform& platform,
                                                                     const ScheduleProgram& program);

}  // namespace stagecraft
