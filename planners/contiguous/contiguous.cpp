#include "planners/chain.hpp"
#include "planners/contiguous/best_contiguous.hpp"
#include "planners/contiguous/star_plan.hpp"
#include "planners/cost_model.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <optional>

namespace stagecraft {

extern const PlannerInfo contiguous_planner;

namespace {

PlanResult judged_answer(const PlanRequest& request, const Chain& chain, const ContiguousAnswer& answer) {
  Planned planned{star_plan(contiguous_planner, request, chain, answer.stages, answer.period), {}};
  Detail::List in_flight;
  for (std::int64_t count : stages_in_flight(chain, answer.stages, answer.period)) in_flight.emplace_back(count);
  planned.details = {{"period_s", to_seconds(answer.period).value()}, {"in_flight", std::move(in_flight)}};
  const Detail::Record figures = chain_figures(request, chain);
  planned.details.insert(planned.details.end(), figures.begin(), figures.end());
  return judged(request, std::move(planned));
}

/// The best cut by the chain's formula that the ledger lets pass; on a chain of equal devices that is the first one. On
/// a graph the ledger may count more: the capacity is lowered by what is lacking, at least by steps that double, until
/// what is found fits. Or the ledger counts less: the last word has the cut that needs least memory by the formula.
PlanResult plan_within(const PlanRequest& request, const Chain& chain) {
  constexpr std::int64_t kFirstStep = 4096;  // the part of the capacity that the first step lowers it by at least
  Bytes capacity = chain.capacity();
  Bytes step(chain.capacity().value() / kFirstStep);
  while (const std::optional<ContiguousAnswer> answer = best_contiguous(chain, capacity)) {
    PlanResult result = judged_answer(request, chain, *answer);
    if (std::holds_alternative<Planned>(result)) return result;
    capacity -= std::max(step, std::get<Infeasible>(result).excess);
    step = step * 2;
  }
  const std::optional<ContiguousAnswer> roomiest = best_contiguous(chain, least_capacity(chain));
  STAGECRAFT_CHECK(roomiest.has_value(), "a cut fits into the least capacity");
  return judged_answer(request, chain, *roomiest);
}

/// The least memory with which there is a plan, given what the roomiest cut needs; on a chain of equal devices that is
/// it, else by bisection.
Bytes smallest_memory(const PlanRequest& request, Bytes enough) {
  const auto finds = [&](const Platform& platform) {
    const PlanRequest again = on_platform(request, platform);
    return std::holds_alternative<Planned>(plan_within(again, Chain(again, kPeriodicWeightVersions)));
  };
  while (!finds(with_memory(request.platform, enough))) enough = enough * 2;
  if (!finds(with_memory(request.platform, enough - Bytes(1)))) return enough;
  return least_memory(request.platform, enough, finds);
}

void require_states(std::size_t layers, std::size_t devices) {
  constexpr std::size_t kMost = 50'000'000;  // of 24 bytes
  const std::size_t states = layers * std::min(layers, devices);
  if (states <= kMost) return;
  throw InputError("the table of " + std::to_string(layers) + " layers on " + std::to_string(devices) +
                       " devices would have " + std::to_string(states) + " entries",
                   {}, "this planner takes on 5e7: plan with blocks for layers, or fewer devices");
}

PlanResult plan_contiguous(const PlanRequest& request) {
  if (request.schedule.name != contiguous_planner.default_schedule) {
    throw InputError("planner 'contiguous' plans for the schedule '1f1b-star', not for " + quote(request.schedule.name),
                     {}, "its cut is the best only with the counts in flight of that schedule");
  }
  require_states(request.graph.layers.size(), request.platform.devices.size());
  const Chain chain(request, kPeriodicWeightVersions);
  PlanResult result = plan_within(request, chain);
  if (auto* none = std::get_if<Infeasible>(&result)) {
    none->reason = "no contiguous stages fit; in the cut that needs least memory " + none->reason;
    none->hint = "'1f1b-star' keeps two copies of the weights: a synchronous schedule needs less, recomputation too";
    if (request.explain) none->smallest_memory = smallest_memory(request, *none->smallest_memory);
  }
  return result;
}

}  // namespace

const PlannerInfo contiguous_planner{
    .name = "contiguous",
    .summary = "the contiguous stages with the least period of 1F1B* that fit the memory, exactly",
    .source = "Stagecraft's own, on the model of MadPipe (Beaumont et al. 2022)",
    .default_schedule = "1f1b-star",
    .options = {},
    .plan = plan_contiguous,
};

}  // namespace stagecraft
