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

/// The time of one microbatch on a stage's slowest replica: of its largest share, if the stage divides microbatches.
struct StageTime {
  Seconds forward;
  Seconds backward;  ///< including recomputation
  [[nodiscard]] Seconds total() const { return forward + backward; }
};
/// **Throws** InputError if a device's speed is not known. **Cost** O(layers + devices of the stage).
[[nodiscard]] StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage);

/// The largest time factor among `devices`; the factor is 1 for the kind of device that was profiled.
/// **Throws** InputError if a device's speed is not known.
[[nodiscard]] double slowest_factor(const LayerGraph& graph, const Platform& platform,
                                    const std::vector<DeviceId>& devices);

/// The largest overhead of a pass on one of the devices.
[[nodiscard]] Seconds largest_pass_overhead(const Platform& platform, const std::vector<DeviceId>& devices);

/// All devices of the platform, in its order.
[[nodiscard]] std::vector<DeviceId> all_devices(const Platform& platform);

/// The devices of each node, in platform order; an explicit platform that names none counts as one.
[[nodiscard]] std::vector<std::vector<DeviceId>> nodes_of(const Platform& platform);

/// The memory that a plan may use on the device that has the least.
[[nodiscard]] Bytes smallest_capacity(const Platform& platform);

/// The part of the stage's ring all-reduces that lasts beyond its backward: all of one all-reduce, less with buckets of
/// gradients, which are exchanged while the backward runs on the slowest device. Without the tied parameters
/// `elsewhere`, which other rings exchange. Where replicas divide the optimizer's state, these are reduce-scatters
/// (`UpdateExchange`). **Throws** InputError as `RingTime`, and if a device's speed is not known.
[[nodiscard]] Seconds ring_beyond_backward(const LayerGraph& graph, const Platform& platform, const Training& training,
                                           const Stage& stage, const std::vector<std::size_t>& elsewhere = {});

/// The time of the optimizer's step for `parameters` of a stage whose replicas `devices` are, on the slowest of them,
/// with its overhead; 0 if the platform gives neither.
[[nodiscard]] Seconds slowest_update(const Platform& platform, const Training& training,
                                     const std::vector<DeviceId>& devices, Bytes parameters);

/// Whether a schedule reports a period instead of an iteration time. **Throws** InputError for an unknown schedule.
[[nodiscard]] bool is_asynchronous(const ScheduleChoice& schedule);

/// The largest times of a plan for one microbatch.
struct LargestTimes {
  Seconds device;  ///< of the stages on a device together, each at its slowest replica's time
  Seconds stage;
};
/// **Throws** InputError if a device's speed is not known.
[[nodiscard]] LargestTimes largest_times(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// The figures that a planner which minimises the largest device time t predicts for a plan. For an asynchronous
/// schedule t is the period. For a synchronous one the iteration takes (microbatches + S - 1) t, where S is the number
/// of devices in the pipeline's chain (the number of stages if each has a device of its own). If the schedule itself
/// puts several stages on a device (`ScheduleFamily::placement`), the pipeline fills and drains by stages: then it
/// takes microbatches · t + (S - 1) times the largest time of a stage. With r replicas per stage a replica runs every
/// r-th microbatch: then the period is divided by r, and ceil(microbatches / r) takes the place of microbatches.
[[nodiscard]] Figures claimed_figures(const Plan& plan, const LargestTimes& largest, std::int64_t replicas);

/// The claimed period of a plan, or its claimed iteration time: by this plans of one planner are compared.
[[nodiscard]] Seconds claimed_time(const Figures& claim);
[[nodiscard]] Seconds claimed_time(const Plan& plan);
/// `kNever` if there is no plan.
[[nodiscard]] Seconds claimed_time(const PlanResult& result);

/// The peak memory of every device of a plan by the shared memory ledger: exact to the byte for a run without
/// contention. It is only an upper bound if the orders are given literally, if the run is too short to be measured, and
/// for shared devices in runs of millions of computations.
/// **Shape** by increasing device. **Cost** as `device_peaks`, or as `evaluate_program` if memory depends on times.
[[nodiscard]] std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const LayerGraph& graph, const Platform& platform,
                                                                   const ScheduleProgram& program);

/// Those of the request's plan, which is to run in all of its `pipelines`.
[[nodiscard]] std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const PlanRequest& request,
                                                                   const ScheduleProgram& program);

/// The largest number of microbatches in flight, at most the program's, with which every replica of the stage fits in
/// its device's memory if it is alone there; 0 if not even one microbatch fits. **Cost** O(replicas · log in flight).
[[nodiscard]] std::int64_t most_in_flight(const PlanRequest& request, const ScheduleProgram& program, StageId stage);

/// The device that lacks the most memory, and the memory with which this plan would fit; none if the plan fits.
[[nodiscard]] std::optional<Infeasible> memory_overflow(const Platform& platform, const Plan& plan,
                                                        const std::vector<std::pair<DeviceId, Bytes>>& peaks);

/// The memory (the reserved part included) with which a plan of these peaks fits if no device has less; 0 if it fits.
[[nodiscard]] Bytes memory_needed(const Platform& platform, const std::vector<std::pair<DeviceId, Bytes>>& peaks);

/// Raises the claimed period to that of the plan's pattern if operations keep their start times: no run is faster.
void raise_claim_to_pattern(Plan& plan);

/// The plan with the pattern that its schedule runs and its memory peaks in `predicted`, its claim raised to the
/// pattern, or the reason why it does not fit.
/// **Throws** InputError if the schedule refuses the plan.
[[nodiscard]] PlanResult judged(const PlanRequest& request, Planned planned);

}  // namespace stagecraft
