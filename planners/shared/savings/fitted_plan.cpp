#include "planners/shared/savings/fitted_plan.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/loop_time.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "planners/shared/costs/replica_bandwidths.hpp"
#include "planners/shared/savings/ledger_fit.hpp"
#include "sim/base/counted.hpp"
#include "sim/schedule/boundaries.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// What stages send to later ones, directly; the slower direction.
std::vector<LoopBoundary> loop_boundaries(const PlanRequest& request, const Plan& plan) {
  std::vector<LoopBoundary> result;
  for (const Boundary& boundary : boundaries(request.graph, plan)) {
    const std::vector<DeviceId> from = devices_of(plan.stages[boundary.from.value()]);
    const std::vector<DeviceId> to = devices_of(plan.stages[boundary.to.value()]);
    const auto there = replica_bandwidth(request.platform, from, to).bandwidth;
    const auto back = replica_bandwidth(request.platform, to, from).bandwidth;
    const Seconds time = there && back ? boundary.bytes / std::min(*there, *back) : Seconds(0);
    result.push_back({boundary.from.value(), boundary.to.value(), time});
  }
  return result;
}

/// The period of a replica: that of the pipeline's loops, or of the slowest stage with its copies.
Seconds period_of(const SavingPipeline& pipeline, const SavedPlan& found) {
  const Plan& plan = found.planned.plan;
  const PlanRequest& request = pipeline.request();
  std::vector<LoopStage> stages;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StageTime time = stage_time(request.graph, request.platform, plan.stages[s]);
    stages.push_back({time.forward, time.total() - time.forward, pipeline.places()[s].in_flight});
  }
  return std::max(loop_time(stages, loop_boundaries(request, plan)), slowest_time(found.savings));
}

Figures claim_of(const SavingPipeline& pipeline, const SavedPlan& found) {
  const Plan& plan = found.planned.plan;
  const PlanRequest& request = pipeline.request();
  Figures figures = pipeline_claim(request.graph, request.platform, plan);
  const auto replicas = std::ssize(pipeline.places().front().devices);
  const Seconds period = period_of(pipeline, found);
  const Figures looped = claimed_figures(plan, {period, period}, replicas);
  if (figures.period) figures.period = std::max(*figures.period, *looped.period);
  if (figures.iteration_time) figures.iteration_time = std::max(*figures.iteration_time, *looped.iteration_time);
  return figures;
}

std::string whatever_they_do(MemoryPolicy policy) {
  switch (policy) {
    case MemoryPolicy::Keep: return " as they are";
    case MemoryPolicy::Recompute: return ", whatever they recompute";
    case MemoryPolicy::Swap: return ", whatever they swap";
    case MemoryPolicy::Cheapest: return ", whatever they swap or recompute";
  }
  return "";
}

Infeasible nothing_fits(const SavingPipeline& pipeline, const std::optional<Infeasible>& last) {
  Infeasible none;
  if (last) none = *last;
  none.reason = counted(pipeline.stages(), "stage") + " of " + counted(pipeline.units(), "unit") +
                (pipeline.stages() == 1 ? " does" : " do") + " not fit in the cuts that were tried" +
                whatever_they_do(pipeline.request().memory) + (last ? "; in the last ones, " + last->reason : "");
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

/// The places if only those stages swap that do so in the plan; none if none of these has more of a link then.
std::optional<std::vector<StagePlace>> places_that_swap(const PlanRequest& request, const Plan& plan,
                                                        const std::vector<StagePlace>& places) {
  std::vector<StagePlace> shared = places;
  const std::vector<char> swaps = swaps_of(plan);
  share_host_links(request, plan, swaps, shared);
  for (std::size_t s = 0; s < places.size(); ++s) {
    if (swaps[s] != 0 && shared[s].host_bandwidth > places[s].host_bandwidth) return shared;
  }
  return std::nullopt;
}

PlanResult fitted(SavingPipeline& pipeline, const FindStages& find) {
  const auto find_plan = [&]() -> std::optional<SavedPlan> {
    std::optional<SavedStages> found = find(pipeline);
    if (!found) return std::nullopt;
    SavedPlan saved{{pipeline.plan(found->cuts, found->savings), std::move(found->details), std::move(found->notes)},
                    std::move(found->savings),
                    {}};
    const auto stage_in = [&](std::size_t s, const StagePlace& place) {
      SavingStage stage = pipeline.stage(s, found->cuts[s], found->cuts[s + 1]);
      stage.budget.bandwidth = place.host_bandwidth;
      return stage;
    };
    for (std::size_t s = 0; s < pipeline.stages(); ++s)
      saved.swapped.push_back(swapped_stash(stage_in(s, pipeline.places()[s]).units, saved.savings[s].actions));
    share_links(pipeline.request(), pipeline.places(), stage_in, saved);
    return saved;
  };
  const auto claim = [&](const SavedPlan& saved) { return claim_of(pipeline, saved); };
  LedgerFit fit = fit_to_ledger(pipeline.request(), pipeline.places(), find_plan, claim);
  if (fit.planned) return *std::move(fit.planned);
  return nothing_fits(pipeline, fit.overflow);
}

}  // namespace

PlanResult fitted_plan(SavingPipeline pipeline, const FindStages& find) {
  constexpr int kMostSearches = 3;
  const bool is_quick = pipeline.units() * pipeline.stages() <= kMostUnitsToRepeat;
  std::vector<StagePlace> places = pipeline.places();
  PlanResult best = fitted(pipeline, find);
  PlanResult last = best;
  for (int searches = 1; searches < kMostSearches && is_quick; ++searches) {
    const auto* planned = std::get_if<Planned>(&last);
    if (planned == nullptr) break;
    auto shared = places_that_swap(pipeline.request(), planned->plan, places);
    if (!shared) break;
    pipeline.places() = places = *std::move(shared);
    last = fitted(pipeline, find);
    if (claimed_time(last) < claimed_time(best)) best = last;
  }
  return best;
}

}  // namespace stagecraft
