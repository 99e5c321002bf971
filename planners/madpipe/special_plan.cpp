#include "planners/madpipe/special_plan.hpp"

#include "planners/madpipe/allocation_search.hpp"
#include "planners/madpipe/pattern_search.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/least_memory.hpp"
#include "planners/shared/star_plan.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft::madpipe {
namespace {

constexpr int kTries = 8;  // each with less memory than the one before

Ticks sequential_period(const Chain& chain, std::span<const ChainStage> stages) {
  Ticks sum = chain.load(0, chain.size());
  for (const ChainStage& stage : stages) sum += chain.cut_load(stage.begin);
  return std::max<Ticks>(1, sum);
}

/// The platform with the capacity of each device limited to `capacity`.
Platform with_capacity(const Platform& platform, Bytes capacity) {
  Platform smaller = platform;
  for (DeviceKind& kind : smaller.spec.device_kinds) kind.memory = std::min(kind.memory, kind.reserved + capacity);
  return smaller;
}

/// Runs both phases once. Returns the memory that is lacking according to the ledger; 0 if the plan fits or if there is
/// no plan to try again.
Bytes try_once(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain, const Settings& settings,
               Ticks longest, SpecialPlan& result) {
  const std::optional<Allocation> allocation = search_allocation(chain, settings.allocation);
  if (!allocation) return Bytes(0);
  if (!result.dp_period) result.dp_period = allocation->period();
  const std::vector<ChainStage> stages = merge_adjacent(allocation->stages);
  const Ticks useful = std::min(longest, sequential_period(chain, stages));
  const PatternAnswer answer = least_pattern(chain, stages, {useful, settings.node_limit - result.nodes});
  result.nodes += answer.nodes;
  result.limit_struck = result.limit_struck || !answer.is_proven;
  if (!answer.pattern) return Bytes(0);
  PlanResult verdict = judged(request, {pattern_plan(planner, request, chain, stages, *answer.pattern), {}});
  if (const auto* none = std::get_if<Infeasible>(&verdict)) return none->excess;
  result.plan = std::move(std::get<Planned>(verdict).plan);
  result.period = answer.pattern->period;
  return Bytes(0);
}

}  // namespace

SpecialPlan special_plan(const PlannerInfo& planner, const PlanRequest& request, const Settings& settings,
                         Ticks longest) {
  SpecialPlan result;
  Bytes capacity = smallest_capacity(request.platform);
  for (int i = 0; i < kTries && capacity > Bytes(0); ++i) {
    const Platform platform = with_capacity(request.platform, capacity);
    const Chain chain(on_platform(request, platform), kPeriodicWeightVersions);
    const Bytes lacking = try_once(planner, request, chain, settings, longest, result);
    if (lacking == Bytes(0)) break;
    capacity -= std::max(lacking, Bytes(capacity.value() / 1000));
  }
  return result;
}

Ticks longest_period(const Chain& chain) {
  Ticks sum = chain.load(0, chain.size());
  for (std::size_t at = 0; at <= chain.size(); ++at) sum += chain.cut_load(at);
  return std::max<Ticks>(1, sum);
}

}  // namespace stagecraft::madpipe
