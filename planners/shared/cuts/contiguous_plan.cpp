#include "planners/shared/cuts/contiguous_plan.hpp"

#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/work.hpp"
#include "planners/shared/cuts/best_contiguous.hpp"
#include "planners/shared/cuts/pipedream_cut.hpp"
#include "planners/shared/cuts/star_plan.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

PlanResult judged_answer(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                         const ContiguousAnswer& answer) {
  Planned planned{star_plan(planner, request, chain, answer.stages, answer.period), {}};
  Detail::List in_flight;
  for (std::int64_t count : stages_in_flight(chain, answer.stages, answer.period)) in_flight.emplace_back(count);
  planned.details = {{"period_s", to_seconds(answer.period).value()}, {"in_flight", std::move(in_flight)}};
  const Detail::Record figures = chain_figures(request, chain);
  planned.details.insert(planned.details.end(), figures.begin(), figures.end());
  if (!answer.is_exact) {
    planned.notes.emplace_back("the tensors of too many layers branch to look at all cuts; there may be a better one");
  }
  return judged(request, std::move(planned));
}

/// The best cut. If no cut fits the smallest device, the one that needs the least memory is tried, because it may fit
/// where devices have unequal memory.
PlanResult plan_within(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain) {
  std::optional<ContiguousAnswer> answer = best_contiguous(chain);
  if (!answer) answer = best_contiguous(chain, least_capacity(chain));
  STAGECRAFT_CHECK(answer.has_value(), "a cut fits into the least capacity");
  return judged_answer(planner, request, chain, *answer);
}

void require_states(std::size_t layers, std::size_t devices) {
  constexpr double kState = 96.0;  // bytes
  require_affordable(
      {.what = "the table of " + std::to_string(layers) + " layers on " + std::to_string(devices) + " devices",
       .bytes = kState * static_cast<double>(layers) * static_cast<double>(std::min(layers, devices)),
       .remedy = "use a model with blocks in place of layers, or plan for fewer devices"});
}

}  // namespace

PlanResult pipedream_cut_plan(const PlannerInfo& planner, const PlanRequest& request) {
  require_states(request.graph.layers.size(), request.platform.devices.size());
  const Chain chain(request, kPeriodicWeightVersions);
  const std::optional<PipedreamCut> cut = pipedream_cut(chain);
  if (!cut) {
    Infeasible none;
    none.reason = "no cut passes PipeDream's memory test, in which the i-th stage from the end holds i microbatches";
    none.hint = "cut=best also finds cuts that fit with fewer microbatches in flight and a longer period";
    none.search = MemorySearch{std::max(Bytes(1), chain.capacity())};
    return none;
  }
  PlanResult result = judged_answer(planner, request, chain, {cut->stages, cut->achieved});
  if (auto* planned = std::get_if<Planned>(&result)) {
    planned->details.emplace_back("claimed_period_s", to_seconds(cut->claimed).value());
  }
  return result;
}

PlanResult contiguous_plan(const PlannerInfo& planner, const PlanRequest& request) {
  require_states(request.graph.layers.size(), request.platform.devices.size());
  const Chain chain(request, kPeriodicWeightVersions);
  PlanResult result = plan_within(planner, request, chain);
  if (auto* none = std::get_if<Infeasible>(&result)) {
    none->reason = "no contiguous stages fit; in the cut that needs the least memory, " + none->reason;
    none->hint =
        "'1f1b-star' keeps two copies of the weights; a synchronous schedule or recomputation needs less memory";
    // With equal devices this is the least memory. Otherwise another cut may fit with less, so it is only where the
    // search starts.
    none->search = MemorySearch{*std::exchange(none->smallest_memory, std::nullopt)};
  }
  return result;
}

}  // namespace stagecraft
