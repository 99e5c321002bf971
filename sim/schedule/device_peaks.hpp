#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/schedule/schedule_program.hpp"
#include "sim/schedule/turn_programs.hpp"

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

/// What microbatches in flight take on a device with one stage, beside its static memory, in any order of split
/// backwards: of k of them at most `one + (k - 1) · each`. A stash on the host counts as if it never left.
struct SplitMemory {
  Bytes one;   ///< the peak of one alone
  Bytes each;  ///< the most that another one holds between two of its operations
};
[[nodiscard]] SplitMemory split_memory(const TurnPrograms& programs, const Training& training);

}  // namespace stagecraft
