#include "planners/shared/savings/ledger_fit.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/limits.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

using Peaks = std::vector<std::pair<DeviceId, Bytes>>;

/// The stage that has most on a host whose memory does not suffice; none if all hosts have enough.
std::optional<std::size_t> overfull_host_stage(const Platform& platform, const std::vector<StagePlace>& places,
                                               const SavedPlan& found) {
  std::map<HostId, Bytes> sums;
  std::vector<Bytes> own;  // of each replica
  for (std::size_t s = 0; s < places.size(); ++s) {
    own.push_back(found.swapped[s] * places[s].in_flight);
    if (own.back() == Bytes(0)) continue;
    for (const DeviceId device : places[s].devices) sums[platform.devices[device].host] += own.back();
  }
  const auto is_on_overfull_host = [&](DeviceId device) {
    const HostId host = platform.devices[device].host;
    return sums.at(host) > platform.hosts[host].memory;
  };
  std::optional<std::size_t> worst;
  for (std::size_t s = 0; s < own.size(); ++s) {
    if (own[s] == Bytes(0) || (worst && own[s] <= own[*worst])) continue;
    if (std::ranges::any_of(places[s].devices, is_on_overfull_host)) worst = s;
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
bool correct(const Platform& platform, std::vector<StagePlace>& places, const SavedPlan& found, const Peaks& peaks) {
  bool lacks = false;
  for (std::size_t s = 0; s < places.size(); ++s) {
    StagePlace& place = places[s];
    const auto [excess, peak] = lack_of(platform, place, peaks);
    if (excess <= Bytes(0)) continue;
    lacks = true;
    const Bytes swapped = found.swapped[s];
    const Bytes unplanned = peak - found.savings[s].memory;
    if (swapped > Bytes(0) && unplanned > Bytes(0)) {
      const std::int64_t more = (unplanned.value() + swapped.value() - 1) / swapped.value();
      place.resident = std::min(place.in_flight, place.resident + more);
    } else {
      const Bytes enough = peak - excess - unplanned;  // of the stage's own figures, if as much is unplanned again
      place.capacity -= std::max(excess, place.capacity - enough);
    }
  }
  return lacks;
}

/// The plan with no more microbatches than it takes to measure it and to show its peaks, which come while a pipeline
/// fills and right after, and to leave out whole repetitions of its orders, so that the schedule takes them. Less is
/// shown of runs that take seconds to evaluate.
Plan shortened(const PlanRequest& request, Plan plan) {
  constexpr std::int64_t kLongRun = 1024;
  constexpr std::int64_t kManyMicrobatches = 100'000;  // on stages, together
  const ScheduleProgram whole = require_schedule(request.graph, request.platform, plan);
  const std::int64_t least = least_microbatches(whole, whole.kept->replicas);
  std::size_t replicas = 1;
  for (const Stage& stage : plan.stages) replicas = std::max(replicas, stage.replicas.size());
  const std::int64_t filling =
      std::ranges::max(whole.in_flight) * static_cast<std::int64_t>(replicas) * whole.kept->replicas.pipelines();
  std::int64_t most = std::max({kLongRun, least, 8 * filling});
  if (std::min(plan.microbatches, most) * std::ssize(plan.stages) > kManyMicrobatches)
    most = std::max(least, 2 * filling);
  const std::int64_t repeats = whole.repeats > most ? 1 : std::max<std::int64_t>(whole.repeats, 1);
  const std::int64_t left = std::max<std::int64_t>(plan.microbatches - most, 0);
  plan.microbatches = std::max(plan.microbatches - left / repeats * repeats, least);
  return plan;
}

/// The time of a microbatch beyond those of an iteration that takes `time`, of at most so many: that of a quarter more,
/// in whole repetitions of its orders.
Seconds further_pace(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program, Seconds time,
                     std::int64_t at_most) {
  const std::int64_t microbatches = program.kept->plan.microbatches;
  const std::int64_t quarter = std::max<std::int64_t>(microbatches / 4, 1);
  const std::int64_t repeats = program.repeats > microbatches ? 1 : std::max<std::int64_t>(program.repeats, 1);
  const std::int64_t more = std::min((quarter + repeats - 1) / repeats * repeats, at_most);
  const ScheduleProgram longer = with_length(graph, platform, program, {microbatches + more, 0});
  return (evaluate_iteration(graph, platform, longer) - time) / static_cast<double>(more);
}

/// What an evaluation says of a plan that swaps or has caps, on links that all devices that swap use: its peaks and the
/// time of an iteration. No figure of a stage says what swaps cost an iteration: forwards that fill the pipeline wait
/// for copies to the host, and backwards that drain it for copies back; nor what it costs to have fewer microbatches in
/// flight, or several stages on a device. The microbatches that are not evaluated follow at the pace that comes then.
Figures evaluated_figures(const PlanRequest& request, const Platform& shared, const Plan& part,
                          std::int64_t microbatches) {
  require_connected(request.graph, request.platform, part);
  const ScheduleProgram program = require_schedule(request.graph, shared, part);
  const Report report = evaluate_program(request.graph, shared, program);
  Figures figures;
  if (!report.iterations.empty()) {
    const Seconds time = report.iterations.back();
    const std::int64_t rest = microbatches - part.microbatches;
    figures.iteration_time = time;
    if (rest > 0) {
      const Seconds pace = further_pace(request.graph, shared, program, time, rest);
      *figures.iteration_time += pace * static_cast<double>(rest);
    }
  }
  figures.peak_memory = report.figures().peak_memory;
  return figures;
}

/// The peaks by the ledger, or by an evaluation if the plan swaps or has caps; then also the time of an iteration.
Figures ledger_figures(const PlanRequest& request, const std::vector<StagePlace>& places, const SavedPlan& found) {
  const Plan& plan = found.planned.plan;
  const Plan part = shortened(request, plan);
  const std::vector<char> swaps = swaps_of(plan);
  if (std::ranges::count(swaps, 1) > 0 || has_caps(plan)) {
    return evaluated_figures(request, with_shared_host_links(request.platform, places, swaps), part, plan.microbatches);
  }
  Figures figures;
  figures.peak_memory =
      ledger_peaks(request.graph, request.platform, require_schedule(request.graph, request.platform, part));
  return figures;
}

}  // namespace

std::vector<char> swaps_of(const Plan& plan) {
  std::vector<char> swaps;
  for (const Stage& stage : plan.stages) swaps.push_back(actions_of<Swap>(stage).empty() ? 0 : 1);
  return swaps;
}

void share_links(const PlanRequest& request, const std::vector<StagePlace>& places,
                 const std::function<SavingStage(std::size_t, const StagePlace&)>& stage, SavedPlan& saved) {
  std::vector<StagePlace> shared = places;
  share_host_links(request, saved.planned.plan, swaps_of(saved.planned.plan), shared);
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (saved.swapped[s] == Bytes(0) || shared[s].host_bandwidth <= places[s].host_bandwidth) continue;
    const SavingStage own = stage(s, shared[s]);
    saved.savings[s].time = saved_time(own.units, saved.savings[s].actions, own.budget);
  }
}

bool has_caps(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.in_flight.has_value(); });
}

Seconds slowest_time(const std::vector<StageSaving>& savings) {
  return std::ranges::max(savings, {}, &StageSaving::time).time;
}

Bytes swapped_stash(const std::vector<SavingUnit>& units, const std::vector<UnitAction>& actions) {
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (actions[i] == UnitAction::Swap) swapped += units[i].stash;
  }
  return swapped;
}

LedgerFit fit_to_ledger(const PlanRequest& request, std::vector<StagePlace>& places,
                        const std::function<std::optional<SavedPlan>()>& find,
                        const std::function<Figures(const SavedPlan&)>& claim) {
  LedgerFit fit;
  std::int64_t rounds = 0;
  for (std::int64_t corrected = 0; corrected < kMostLedgerRounds;) {
    ++rounds;
    std::optional<SavedPlan> found = find();
    if (!found) break;
    if (const auto stage = overfull_host_stage(request.platform, places, *found)) {
      places[*stage].host_bandwidth = 0.0;
      continue;
    }
    Plan& plan = found->planned.plan;
    const Figures measured = ledger_figures(request, places, *found);
    found->planned.details.emplace_back("ledger_rounds", rounds);
    if (!correct(request.platform, places, *found, measured.peak_memory)) {
      plan.predicted = measured.iteration_time && is_claim_evaluated(plan) ? measured : claim(*found);
      raise_claim_to_pattern(plan);
      std::optional<Seconds>& time = plan.predicted.iteration_time;
      if (time && measured.iteration_time) time = std::max(*time, *measured.iteration_time);
      plan.predicted.peak_memory = measured.peak_memory;
      fit.planned = std::move(found->planned);
      return fit;
    }
    fit.overflow = memory_overflow(request.platform, plan, measured.peak_memory);
    ++corrected;
  }
  return fit;
}

}  // namespace stagecraft
