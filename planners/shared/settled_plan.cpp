#include "planners/shared/settled_plan.hpp"

#include "planners/shared/cost_model.hpp"
#include "planners/shared/limits.hpp"
#include "planners/shared/loop_time.hpp"
#include "planners/shared/pipeline_claim.hpp"
#include "planners/shared/replica_bandwidths.hpp"
#include "sim/base/counted.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Peaks = std::vector<std::pair<DeviceId, Bytes>>;

Seconds slowest_time(const SavedStages& found) { return std::ranges::max(found.savings, {}, &SavingPlan::time).time; }

/// The stash of the stage's swapped units, of one microbatch.
Bytes swapped_bytes(const SavingPipeline& pipeline, const SavedStages& found, std::size_t s) {
  const std::vector<SavingUnit> units =
      pipeline.stage(s, found.cuts[s], found.cuts[s + 1], found.savings[s].division).units;
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (found.savings[s].actions[i] == Saving::Swap) swapped += units[i].stash;
  }
  return swapped;
}

/// The stage that has most on a host whose memory does not suffice; none if all hosts have enough.
std::optional<std::size_t> overfull_host_stage(const SavingPipeline& pipeline, const SavedStages& found) {
  const Platform& platform = pipeline.request().platform;
  std::map<HostId, Bytes> sums;
  std::vector<Bytes> own;  // of each replica
  for (std::size_t s = 0; s + 1 < found.cuts.size(); ++s) {
    const StagePlace& place = pipeline.places()[s];
    own.push_back(swapped_bytes(pipeline, found, s) * place.in_flight);
    if (own.back() == Bytes(0)) continue;
    for (const DeviceId device : place.devices) sums[platform.devices[device].host] += own.back();
  }
  const auto is_on_overfull_host = [&](DeviceId device) {
    const HostId host = platform.devices[device].host;
    return sums.at(host) > platform.hosts[host].memory;
  };
  std::optional<std::size_t> worst;
  for (std::size_t s = 0; s < own.size(); ++s) {
    if (own[s] == Bytes(0) || (worst && own[s] <= own[*worst])) continue;
    if (std::ranges::any_of(pipeline.places()[s].devices, is_on_overfull_host)) worst = s;
  }
  return worst;
}

/// The memory that a device of the stage lacks, at most, and the peak there.
struct Lack {
  Bytes excess;
  Bytes peak;
};

Lack lack_of(const Platform& platform, const StagePlace& place, const Peaks& peaks) {
  std::optional<Lack> worst;
  for (const DeviceId device : place.devices) {
    const Bytes peak = std::ranges::find(peaks, device, &Peaks::value_type::first)->second;
    const Bytes excess = peak - platform.capacity(device);
    if (!worst || excess > worst->excess) worst = {excess, peak};
  }
  return *worst;
}

/// Corrects the figures of each stage whose device lacks memory; false if none does. Where units are swapped, more of
/// them are on the device than was thought: for example, forwards that warm up may follow each other faster than copies
/// leave. Elsewhere the capacity is lowered by what was not planned.
bool correct(SavingPipeline& pipeline, const SavedStages& found, const Peaks& peaks) {
  bool lacks = false;
  for (std::size_t s = 0; s < found.savings.size(); ++s) {
    const StagePlace& place = pipeline.places()[s];
    const auto [excess, peak] = lack_of(pipeline.request().platform, place, peaks);
    if (excess <= Bytes(0)) continue;
    lacks = true;
    const Bytes swapped = swapped_bytes(pipeline, found, s);
    const Bytes unplanned = peak - found.savings[s].memory;
    if (swapped > Bytes(0) && unplanned > Bytes(0)) {
      pipeline.add_residents(s, (unplanned.value() + swapped.value() - 1) / swapped.value());
    } else {
      const Bytes enough = peak - excess - unplanned;  // of the stage's own figures, if as much is unplanned again
      pipeline.tighten(s, std::max(excess, place.capacity - enough));
    }
  }
  return lacks;
}

/// The ledger's peaks. What swapping saves depends on times: then the run has to be long enough to be measured, and is
/// no longer than it takes to show the peak.
Peaks peaks_of(const PlanRequest& request, const Platform& platform, Plan plan) {
  constexpr std::int64_t kLongRun = 1024;
  const ScheduleProgram whole = require_schedule(request.graph, platform, plan);
  const std::int64_t least = least_microbatches(whole, whole.kept->replicas);
  const auto replicas = static_cast<std::int64_t>(plan.stages.front().replicas.size());
  const std::int64_t most = std::max({kLongRun, least, 8 * std::ranges::max(whole.in_flight) * replicas});
  plan.microbatches = std::clamp(plan.microbatches, least, most);
  const ScheduleProgram program = require_schedule(request.graph, platform, plan);
  return ledger_peaks(request.graph, platform, plan, program);
}

bool swaps(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return !actions_of<Swap>(stage).empty(); });
}

/// The peaks if copies to and from the host take as long as they may on links that others use.
Peaks crowded_peaks(const SavingPipeline& pipeline, const SavedStages& found, const Plan& plan) {
  const PlanRequest& request = pipeline.request();
  const Platform crowded = with_crowded_host_links(request, pipeline.places(), plan, slowest_time(found));
  return peaks_of(request, crowded, plan);
}

/// **Shape** the same devices in both.
Peaks larger_of(Peaks peaks, const Peaks& others) {
  for (std::size_t i = 0; i < peaks.size(); ++i) peaks[i].second = std::max(peaks[i].second, others[i].second);
  return peaks;
}

/// What stages send to later ones, directly; the slower direction.
std::vector<LoopHop> hops_of(const PlanRequest& request, const Plan& plan) {
  std::vector<LoopHop> hops;
  for (const Boundary& boundary : boundaries(request.graph, plan)) {
    const std::vector<DeviceId> from = devices_of(plan.stages[boundary.from.value()]);
    const std::vector<DeviceId> to = devices_of(plan.stages[boundary.to.value()]);
    const auto there = replica_bandwidth(request.platform, from, to).bandwidth;
    const auto back = replica_bandwidth(request.platform, to, from).bandwidth;
    const Seconds time = there && back ? boundary.bytes / std::min(*there, *back) : Seconds(0);
    hops.push_back({boundary.from.value(), boundary.to.value(), time});
  }
  return hops;
}

/// The period of a replica: that of the pipeline's loops, or of the slowest stage with its copies.
Seconds period_of(const SavingPipeline& pipeline, const Plan& plan, const SavedStages& found) {
  const PlanRequest& request = pipeline.request();
  std::vector<LoopStage> stages;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StageTime time = stage_time(request.graph, request.platform, plan.stages[s]);
    stages.push_back({time.forward, time.total() - time.forward, pipeline.places()[s].in_flight});
  }
  return std::max(loop_time(stages, hops_of(request, plan)), slowest_time(found));
}

Figures claim_of(const SavingPipeline& pipeline, const Plan& plan, const SavedStages& found) {
  const PlanRequest& request = pipeline.request();
  Figures figures = pipeline_claim(request.graph, request.platform, plan);
  const auto replicas = std::ssize(pipeline.places().front().devices);
  const Figures looped = claimed_figures(plan, period_of(pipeline, plan, found), replicas);
  if (figures.period) figures.period = std::max(*figures.period, *looped.period);
  if (figures.iteration_time) figures.iteration_time = std::max(*figures.iteration_time, *looped.iteration_time);
  return figures;
}

Infeasible nothing_fits(const SavingPipeline& pipeline, const std::optional<Infeasible>& last) {
  Infeasible none;
  if (last) none = *last;
  none.reason = "no " + counted(pipeline.stages(), "stage") + " of " + counted(pipeline.units(), "unit") +
                " that the planner looked at fit, whatever they swap or recompute" +
                (last ? "; in the last ones, " + last->reason : "");
  none.smallest_memory.reset();
  none.hint = "a smaller microbatch or fewer microbatches in flight need less memory";
  Bytes smallest = kMostMemory;
  for (const StagePlace& place : pipeline.places()) {
    for (const DeviceId device : place.devices) {
      smallest = std::min(smallest, pipeline.request().platform.memory(device));
    }
  }
  none.search = MemorySearch{std::max(Bytes(1), smallest)};
  return none;
}

}  // namespace

PlanResult settled_plan(SavingPipeline pipeline, const FindStages& find) {
  const PlanRequest& request = pipeline.request();
  std::optional<Infeasible> overflow;
  std::int64_t rounds = 0;
  for (std::int64_t corrected = 0; corrected < kMostSettlingRounds;) {
    ++rounds;
    const std::optional<SavedStages> found = find(pipeline);
    if (!found) break;
    if (const auto stage = overfull_host_stage(pipeline, *found)) {
      pipeline.forbid_swaps(*stage);
      continue;
    }
    Planned planned{pipeline.plan(found->cuts, found->savings), found->details, found->notes};
    Plan& plan = planned.plan;
    plan.predicted = claim_of(pipeline, plan, *found);
    plan.predicted.peak_memory = peaks_of(request, request.platform, plan);
    Peaks peaks = plan.predicted.peak_memory;
    if (swaps(plan)) peaks = larger_of(peaks, crowded_peaks(pipeline, *found, plan));
    planned.details.emplace_back("ledger_rounds", rounds);
    if (!correct(pipeline, *found, peaks)) return planned;
    overflow = memory_overflow(request.platform, plan, peaks);
    ++corrected;
  }
  return nothing_fits(pipeline, overflow);
}

}  // namespace stagecraft
