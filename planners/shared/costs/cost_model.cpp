#include "planners/shared/costs/cost_model.hpp"

#include "planners/shared/costs/ring_time.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/pattern.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/schedule/tied_stages.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr double kMostWalked = 2e6;  ///< microbatches times stages up to which a run is walked for exact peaks

/// The memory of a replica's microbatches, with `pending` in flight.
Bytes moving_memory(const TurnPrograms& work, std::int64_t pending) { return work.stashes(pending) + work.workspace(); }

std::optional<std::uint32_t> stage_on(const Plan& plan, DeviceId device) {
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    if (runs_on(plan.stages[s], device)) {
      return static_cast<std::uint32_t>(s);
    }
  }
  return std::nullopt;
}

/// The number of devices that a microbatch visits in the longest pipeline, where a stage counts as its first replica.
std::int64_t chain_length(const Plan& plan) {
  std::map<std::uint32_t, std::set<DeviceId>> devices;
  std::size_t longest = 0;
  for (const Stage& stage : plan.stages) {
    std::set<DeviceId>& visited = devices[stage.pipeline];
    visited.insert(stage.replicas.front().lead());
    longest = std::max(longest, visited.size());
  }
  return static_cast<std::int64_t>(longest);
}

/// An upper bound of the peaks: it assumes that every replica has as many microbatches in flight as its stage ever has,
/// and that replicas on the same device peak at the same time.
std::vector<std::pair<DeviceId, Bytes>> ledger_bound(const LayerGraph& graph, const ScheduleProgram& program) {
  const KeptPlan& kept = *program.kept;
  std::map<DeviceId, Bytes> peaks;
  for (const ReplicaId id : kept.replicas.all()) {
    const Replica& replica = kept.replicas[id];
    peaks[replica.device] += static_memory(graph, kept, program.weight_versions, id).total() +
                             moving_memory((*kept.work)[id].programs, program.in_flight[replica.stage.value()]);
  }
  return {peaks.begin(), peaks.end()};
}

/// The programs of the stage's slowest replica.
TurnPrograms slowest_programs(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                              const std::vector<GradientBucket>& buckets) {
  ReplicaTurns programs(graph, platform, stage, {buckets});
  const Share share = largest_share(stage, graph.microbatch_size);
  std::set<DeviceKindId> seen;
  std::optional<TurnPrograms> slowest;
  const auto total = [](const TurnPrograms& program) { return program.forward() + program.mean_backward(); };
  for (DeviceId device : devices_of(stage)) {
    if (!seen.insert(platform.devices[device].kind).second) continue;
    TurnPrograms program = programs.of(device, share);
    if (!slowest || total(program) > total(*slowest)) slowest = std::move(program);
  }
  return *std::move(slowest);
}

/// Whether the exact peaks can be computed quickly.
bool is_quickly_walked(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  if (program.reaches_in_flight || program.pattern) return true;
  return static_cast<double>(plan.microbatches) * static_cast<double>(plan.stages.size()) <= kMostWalked;
}

}  // namespace

StageTime stage_time(const LayerGraph& graph, const Platform& platform, const Stage& stage) {
  const TurnPrograms work = slowest_programs(graph, platform, stage, {});
  return {work.forward(), work.mean_backward()};
}

double slowest_factor(const LayerGraph& graph, const Platform& platform, const std::vector<DeviceId>& devices) {
  STAGECRAFT_CHECK(!devices.empty(), "a stage with at least one device");
  double factor = 0.0;
  for (DeviceId device : devices) {
    factor = std::max(factor, require_time_factor(platform, graph.device_kind, device));
  }
  return factor;
}

Seconds largest_pass_overhead(const Platform& platform, const std::vector<DeviceId>& devices) {
  Seconds most;
  for (DeviceId device : devices) most = std::max(most, pass_overhead(platform, device));
  return most;
}

std::vector<DeviceId> all_devices(const Platform& platform) {
  std::vector<DeviceId> devices;
  for (DeviceId device : indices(platform.devices)) devices.push_back(device);
  return devices;
}

std::vector<std::vector<DeviceId>> nodes_of(const Platform& platform) {
  std::map<NodeId, std::vector<DeviceId>> members;  // an explicit platform may name no nodes
  for (DeviceId device : indices(platform.devices)) members[platform.devices[device].node].push_back(device);
  std::vector<std::vector<DeviceId>> nodes;
  for (auto& [id, devices] : members) nodes.push_back(std::move(devices));
  return nodes;
}

Bytes smallest_capacity(const Platform& platform) {
  Bytes smallest = platform.capacity(DeviceId(0));
  for (DeviceId device : indices(platform.devices)) smallest = std::min(smallest, platform.capacity(device));
  return smallest;
}

Seconds ring_beyond_backward(const LayerGraph& graph, const Platform& platform, const Training& training,
                             const Stage& stage, const std::vector<std::size_t>& elsewhere) {
  const UpdateExchange exchange = update_exchange(training);
  const RingTime ring(platform, devices_of(stage));
  const std::vector<GradientBucket> buckets = summed_buckets(graph, training, stage.layers, elsewhere);
  std::vector<Seconds> times;
  for (const GradientBucket& bucket : buckets) {
    const double experts = expert_part(bucket);
    times.push_back(exchange.summed(bucket.bytes, [&](Bytes bytes) { return ring(bytes, experts); }));
  }
  return exposed_all_reduce(slowest_programs(graph, platform, stage, buckets).first().backward, times);
}

Seconds slowest_update(const Platform& platform, const Training& training, const std::vector<DeviceId>& devices,
                       Bytes parameters) {
  Seconds slowest{0};
  for (DeviceId device : devices) {
    slowest = std::max(slowest, update_time(platform.kind(device), training, {parameters, 1, std::ssize(devices)}));
  }
  return slowest;
}

bool is_asynchronous(const ScheduleChoice& schedule) { return !require_family(schedule.name).synchronous; }

LargestTimes largest_times(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  std::map<DeviceId, Seconds> times;
  LargestTimes largest;
  for (const Stage& stage : plan.stages) {
    const Seconds time = stage_time(graph, platform, stage).total();
    largest.stage = std::max(largest.stage, time);
    for (DeviceId device : devices_of(stage)) times[device] += time;
  }
  for (const auto& [device, time] : times) largest.device = std::max(largest.device, time);
  return largest;
}

Figures claimed_figures(const Plan& plan, const LargestTimes& largest, std::int64_t replicas) {
  Figures figures;
  if (is_asynchronous(plan.schedule)) {
    figures.period = largest.device / static_cast<double>(replicas);
    return figures;
  }
  const std::int64_t rounds = (plan.microbatches + replicas - 1) / replicas;
  const bool fills_by_stages = require_family(plan.schedule.name).placement != straight_placement;
  const Seconds step = fills_by_stages ? largest.stage : largest.device;
  figures.iteration_time =
      largest.device * static_cast<double>(rounds) + step * static_cast<double>(chain_length(plan) - 1);
  return figures;
}

Seconds claimed_time(const Figures& claim) {
  return claim.period ? *claim.period : claim.iteration_time.value_or(Seconds(0));
}

Seconds claimed_time(const PlanResult& result) {
  const auto* planned = std::get_if<Planned>(&result);
  return planned == nullptr ? kNever : claimed_time(planned->plan);
}

Seconds claimed_time(const Plan& plan) { return claimed_time(plan.predicted); }

std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const LayerGraph& graph, const Platform& platform,
                                                     const ScheduleProgram& program) {
  if (program.orders_are_given || !is_quickly_walked(program)) return ledger_bound(graph, program);
  if (const auto exact = device_peaks(graph, program)) return *exact;
  if (least_microbatches(program, program.kept->replicas) > program.kept->plan.microbatches)
    return ledger_bound(graph, program);
  std::vector<std::pair<DeviceId, Bytes>> peaks;
  for (const DeviceReport& device : evaluate_program(graph, platform, program).devices) {
    peaks.emplace_back(device.device, device.memory.peak);
  }
  return peaks;
}

namespace {

/// What a replica keeps less if the replicas of more pipelines divide its parameters; it has buffers then, too.
Bytes divided_further(const PlanRequest& request, const ScheduleProgram& program, ReplicaId id) {
  if (request.pipelines == 1 || request.training.zero == 0) return Bytes(0);
  const KeptPlan& kept = *program.kept;
  const StageId stage = kept.replicas[id].stage;
  const Bytes parameters = (*kept.work)[id].programs.parameters() -
                           held_elsewhere(request.graph, kept.plan, kept.replicas, program.weight_versions, id);
  HeldParameters held = held_parameters(kept, id, parameters, program.weight_versions[stage.value()]);
  const Bytes within_one = kept_state(request.training, held).total();
  const Bytes buffers = held.replicas > 1
                            ? Bytes(0)
                            : divided_buffers(request.graph, request.training, kept.plan.stages[stage.value()].layers);
  held.replicas *= request.pipelines;
  held.expert_replicas *= request.pipelines;
  return within_one - kept_state(request.training, held).total() - buffers;
}

}  // namespace

std::vector<std::pair<DeviceId, Bytes>> ledger_peaks(const PlanRequest& request, const ScheduleProgram& program) {
  std::vector<std::pair<DeviceId, Bytes>> peaks = ledger_peaks(request.graph, request.platform, program);
  for (const ReplicaId id : program.kept->replicas.all()) {
    const DeviceId device = program.kept->replicas[id].device;
    std::ranges::find(peaks, device, &std::pair<DeviceId, Bytes>::first)->second -=
        divided_further(request, program, id);
  }
  return peaks;
}

std::int64_t most_in_flight(const PlanRequest& request, const ScheduleProgram& program, StageId stage) {
  const Platform& platform = request.platform;
  const KeptPlan& kept = *program.kept;
  std::int64_t most = program.in_flight[stage.value()];
  for (ReplicaId id : kept.replicas.of(stage)) {
    const Replica& replica = kept.replicas[id];
    const TurnPrograms& work = (*kept.work)[id].programs;
    const Bytes held =
        static_memory(kept, id, held_parameters(kept, id, work.parameters(), program.weight_versions[stage.value()]))
            .total() -
        divided_further(request, program, id);
    const auto fits = [&](std::int64_t pending) {
      return held + moving_memory(work, pending) <= platform.capacity(replica.device);
    };
    std::int64_t fitting = 0;  // bisection: `fitting` fits (or is 0), and more than `most` does not
    while (fitting < most) {
      const std::int64_t middle = fitting + (most - fitting + 1) / 2;
      if (fits(middle)) {
        fitting = middle;
      } else {
        most = middle - 1;
      }
    }
  }
  return most;
}

std::optional<Infeasible> memory_overflow(const Platform& platform, const Plan& plan,
                                          const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
  std::optional<Infeasible> worst;
  for (const auto& [device, peak] : peaks) {
    const Bytes excess = peak - platform.capacity(device);
    if (excess <= Bytes(0) || (worst && excess <= worst->excess)) continue;
    worst = Infeasible{"device '" + platform.devices[device].name + "' would need " + format_human_bytes(peak) +
                           " and has " + format_human_bytes(platform.capacity(device)),
                       device, stage_on(plan, device), excess, ""};
  }
  if (worst) worst->smallest_memory = memory_needed(platform, peaks);
  return worst;
}

Bytes memory_needed(const Platform& platform, const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
  Bytes needed{0};
  for (const auto& [device, peak] : peaks) {
    if (peak > platform.capacity(device)) needed = std::max(needed, peak + platform.kind(device).reserved);
  }
  return needed;
}

void raise_claim_to_pattern(Plan& plan) {
  std::optional<Seconds>& period = plan.predicted.period;
  if (period && plan.pattern && plan.pattern->timed) period = std::max(*period, plan.pattern->period);
}

namespace {

/// What neither recomputation nor swaps make less: weights, gradients and the optimizer's state on a device.
Bytes state_on(const LayerGraph& graph, const ScheduleProgram& program, DeviceId device) {
  const KeptPlan& kept = *program.kept;
  Bytes sum{0};
  for (const ReplicaId id : kept.replicas.all()) {
    if (kept.replicas[id].device != device) continue;
    const StaticMemory held = static_memory(graph, kept, program.weight_versions, id);
    sum += held.weights + held.gradients + held.optimizer;
  }
  return sum;
}

/// Whether replicas of the plan's stages on a device could divide the state, and do not.
bool could_divide(const PlanRequest& request, const ScheduleProgram& program, DeviceId device) {
  if (request.training.zero > 0 || !program.synchronous) return false;
  const auto is_replicated = [&](const Stage& stage) {
    return runs_on(stage, device) && (request.pipelines > 1 || stage.replicas.size() > 1);
  };
  return std::ranges::any_of(program.kept->plan.stages, is_replicated);
}

void tell_state(const PlanRequest& request, const ScheduleProgram& program, Infeasible& none) {
  const Bytes state = state_on(request.graph, program, *none.device);
  if (state <= request.platform.capacity(*none.device)) return;
  const bool divides = could_divide(request, program, *none.device);
  none.reason += "; weights, gradients and optimizer alone take " + format_human_bytes(state) + ", which more stages" +
                 (divides ? ", --zero 1" : "") + " or another --training recipe=NAME make less";
}

}  // namespace

PlanResult judged(const PlanRequest& request, Planned planned) {
  const ScheduleProgram program = require_schedule(request.graph, request.platform, planned.plan);
  planned.plan.pattern = program.pattern;
  raise_claim_to_pattern(planned.plan);
  planned.plan.predicted.peak_memory = ledger_peaks(request, program);
  auto overflow = memory_overflow(request.platform, planned.plan, planned.plan.predicted.peak_memory);
  if (!overflow) return planned;
  tell_state(request, program, *overflow);
  return *std::move(overflow);
}

}  // namespace stagecraft
