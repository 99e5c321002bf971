#include "planners/madpipe/special_plan.hpp"

#include "planners/madpipe/allocation_search.hpp"
#include "planners/madpipe/pattern_search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/cuts/star_plan.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::madpipe {
namespace {

Ticks sequential_period(const Chain& chain, std::span<const ChainStage> stages) {
  Ticks sum = 0;
  for (const ChainStage& stage : stages) sum += chain.cut_load(stage.begin) + chain.load(stage.begin, stage.end);
  return std::max<Ticks>(1, sum);
}

/// Phase 2 for one allocation. Its pattern is kept if its period is at most `longest`.
void try_allocation(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                    std::span<const ChainStage> stages, const PatternSearch& search, SpecialPlan& result) {
  const PatternAnswer answer = least_pattern(chain, stages, search);
  result.nodes += answer.nodes;
  result.limit_struck = result.limit_struck || !answer.is_proven;
  if (!answer.pattern) return;
  PlanResult verdict = judged(request, {pattern_plan(planner, request, chain, stages, *answer.pattern), {}});
  STAGECRAFT_CHECK(std::holds_alternative<Planned>(verdict), "phase 2 counts at least as much memory as the ledger");
  result.plan = std::move(std::get<Planned>(verdict).plan);
  result.period = answer.pattern->period;
}

}  // namespace

SpecialPlan special_plan(const PlannerInfo& planner, const PlanRequest& request, const Chain& chain,
                         const Settings& settings, Ticks longest) {
  SpecialPlan result;
  std::vector<Allocation> found = trace_search(chain, settings.allocation).found;
  if (!found.empty()) result.dp_period = found.back().period();
  std::vector<std::vector<ChainStage>> tried;
  for (; !found.empty() && tried.size() < settings.candidates; found.pop_back()) {
    const std::vector<ChainStage> stages = merge_adjacent(found.back().stages);
    if (std::ranges::find(tried, stages) != tried.end()) continue;
    try_allocation(planner, request, chain, stages,
                   {std::min(longest, sequential_period(chain, stages)), settings.node_limit}, result);
    if (result.plan) longest = result.period - 1;
    tried.push_back(stages);
  }
  return result;
}

Ticks longest_period(const Chain& chain) {
  Ticks sum = chain.most_load();
  for (std::size_t at = 0; at <= chain.size(); ++at) sum += chain.cut_load(at);
  return std::max<Ticks>(1, sum);
}

}  // namespace stagecraft::madpipe
