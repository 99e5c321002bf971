#pragma once

#include "planners/planner.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

struct Plan;
struct Stage;

/// Seconds of one whole microbatch on a stage's slowest replica.
struct StageTime {
  Seconds forward;
  Seconds backward;  ///< what is recomputed before it included
  [[nodiscard]] Seconds total() const { return forward + backward; }
};
/// **Throws** InputError where a device's speed is not known. **Cost** O(layers + devices of the stage).
[[nodiscard]] StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage);

/// The largest time factor among `devices` (1 on the kind the profile was taken on).
/// **Throws** InputError where a device's speed is not known.
[[nodiscard]] double slowest_factor(const LayerGraph& graph, const Platform& platform,
                                    const std::vector<DeviceId>& devices);

/// All devices of the platform, in its order.
[[nodiscard]] std::vector<DeviceId> all_devices(const Platform& platform);

/// The devices of each node, in its order; an explicit platform is one node.
[[nodiscard]] std::vector<std::vector<DeviceId>> nodes_of(const Platform& platform);

/// What a plan may use on the device that has least.
[[nodiscard]] Bytes smallest_capacity(const Platform& platform);

/// A ring all-reduce among r replicas: 2 (r - 1) / r times the bytes over the smallest bandwidth of neighbours.
/// **Throws** InputError if two neighbours are not connected.
[[nodiscard]] Seconds ring_all_reduce(const Platform& platform, const std::vector<DeviceId>& ring, Bytes bytes);

/// The optimizer's step of `parameters` on the slowest of `devices`; none where the platform does not tell how fast.
[[nodiscard]] Seconds slowest_update(const Platform& platform, const Training& training,
                                     const std::vector<DeviceId>& devices, Bytes parameters);

/// Whether a schedule reports a period instead of an iteration time. **Throws** InputError for an unknown schedule.
[[nodiscard]] bool is_asynchronous(const ScheduleChoice& schedule);

/// The largest time that a device takes for one microbatch: of all stages on it, each on its slowest replica.
/// **Throws** InputError where a device's speed is not known.
[[nodiscard]] Seconds largest_device_time(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// What a planner that minimises the largest device's time claims of a plan (contract, section 6): that time as the
/// period of an asynchronous schedule, else (microbatches + S - 1) times it, S being the devices of the pipeline's
/// chain: its stages, where each has a device of its own. With r replicas per stage a replica runs every r-th
/// microbatch: the period is an r-th, and ceil(microbatches / r) takes the place of microbatches.
[[nodiscard]] Figures claimed_figures(const Plan& plan, Seconds largest_device_time, std::int64_t replicas);

/// The shared ledger (contract, section 5) of every device of a plan: what a run without contention holds at most, to
/// the byte. Only an upper bound where the orders are given, where a run is too short to be measured, and of shared
/// devices in runs of millions of computations.
/// **Shape** by increasing device. **Requires** a plan that covers the graph, and its program.
/// **Cost** as `device_peaks`, or where memory depends on time as `evaluate_plan`.
[[nodiscard]] std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const LayerGraph& graph, const Platform& platform,
                                                                   const Plan& plan, const ScheduleProgram& program);

/// The most microbatches in flight on a replica of the stage, up to the program's, with which all its replicas, alone
/// on their devices, hold no more than their capacity; 0 if not even one.
/// **Requires** as `ledger_peaks`. **Cost** O(layers + edges + replicas · log in flight).
[[nodiscard]] std::int64_t most_in_flight(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                          const ScheduleProgram& program, StageId stage);

/// The device whose ledger exceeds its capacity most, and the memory with which this plan fits; none if it does.
[[nodiscard]] std::optional<Infeasible> memory_overflow(const Platform& platform, const Plan& plan,
                                                        const std::vector<std::pair<DeviceId, Bytes>>& peaks);

/// The memory (what is reserved included) with which a plan of these peaks fits if no device has less; 0 if it fits.
[[nodiscard]] Bytes memory_needed(const Platform& platform, const std::vector<std::pair<DeviceId, Bytes>>& peaks);

/// The plan, with the pattern that its schedule runs and its peaks in `predicted`, or why it does not fit.
/// **Throws** InputError where the schedule refuses the plan.
[[nodiscard]] PlanResult judged(const PlanRequest& request, Planned planned);

}  // namespace stagecraft
