#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Seconds of one microbatch on a stage's slowest replica.
struct StageTime {
  Seconds forward;
  Seconds backward;  ///< what is recomputed before it included
  [[nodiscard]] Seconds total() const { return forward + backward; }
};
/// **Throws** InputError where a device's speed is not known. **Cost** O(layers + devices of the stage).
[[nodiscard]] StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage);

/// The largest time factor among `devices` (1 on the kind the profile was taken on).
[[nodiscard]] double slowest_factor(const LayerGraph& graph, const Platform& platform,
                                    const std::vector<DeviceId>& devices);

/// Whether a schedule reports a period instead of an iteration time.
[[nodiscard]] bool is_asynchronous(const ScheduleChoice& schedule);

/// What a planner that minimises the largest stage time claims of a plan (contract, section 6): that time as the period
/// of an asynchronous schedule, else (microbatches + stages - 1) times it. With r replicas per stage a replica runs
/// every r-th microbatch: the period is an r-th, and ceil(microbatches / r) takes the place of microbatches.
[[nodiscard]] Figures claimed_figures(const Plan& plan, Seconds largest_stage_time, std::int64_t replicas);

}  // namespace stagecraft
