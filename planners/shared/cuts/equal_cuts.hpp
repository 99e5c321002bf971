#pragma once

#include "planners/planner.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Which of the cuts with the same largest stage is looked for.
enum class EqualCut : std::uint8_t {
  /// The one that is fastest in a synchronous order in which a stage with w microbatches in flight runs w forwards
  /// before its first backward, of those whose stages seem to fit. With m microbatches on a replica, stage s then takes
  ///   all stages' (F + B) + (m - 1) B + (m - w) F
  /// from the first forward of the pipeline to its last backward: so slow stages come first, where w is large.
  Fastest,
  Smallest,  ///< the one whose fullest stage takes the smallest part of its device's memory
};

/// The stages of another cut of the same layers, in which no stage takes longer than the slowest one of `plan`, on the
/// same devices and with the stages' memory actions dropped. Empty if there is no such cut that seems to fit, or if it
/// is the same. The memory of a stage is estimated by its weights, gradients, optimizer state, stashes and largest
/// workspace.
/// **Requires** a plan of one pipeline of contiguous stages in canonical order, on one device for each replica, and its
/// program. **Throws** InputError if a device's speed is not known. **Cost** as `bottleneck_cuts`.
[[nodiscard]] std::vector<Stage> equal_cut(const PlanRequest& request, const Plan& plan, const ScheduleProgram& program,
                                           EqualCut wish);

}  // namespace stagecraft
