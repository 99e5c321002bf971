#include "planners/pipedream/options.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/savings/side_by_side.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

namespace stagecraft {

extern const PlannerInfo pipedream_sync_planner;

namespace {

/// Whether the replicas of some neighbours take turns in numbers of which none divides the other.
bool has_indivisible_turns(const Plan& plan) {
  const auto are_indivisible = [](std::int64_t before, std::int64_t behind) {
    return before % behind != 0 && behind % before != 0;
  };
  return std::ranges::adjacent_find(plan.stages, are_indivisible, alternating_replicas) != plan.stages.end();
}

/// PipeDream's plan, with the evaluated time as its claim where no formula holds. Where turns do not divide each other,
/// the best plan with powers of two is the answer if its run takes less.
PlanResult plan_with_turns(const PlanRequest& request) {
  PlanResult result = pipedream::plan_pipedream(request, false);
  auto* planned = std::get_if<Planned>(&result);
  if (planned == nullptr || !is_claim_evaluated(planned->plan)) return result;
  planned->plan.predicted.iteration_time = evaluated_claim(request, planned->plan).iteration_time;
  if (!has_indivisible_turns(planned->plan)) return result;
  PlanResult other = pipedream::plan_pipedream(request, true);
  auto* regular = std::get_if<Planned>(&other);
  if (regular == nullptr) return result;
  regular->plan.predicted.iteration_time = evaluated_claim(request, regular->plan).iteration_time;
  return claimed_time(other) < claimed_time(result) ? other : result;
}

PlanResult plan_flushed(const PlanRequest& request) {
  if (is_asynchronous(request.schedule)) {
    throw InputError("planner 'pipedream-sync' plans for schedules that flush, not for " + quote(request.schedule.name),
                     {}, "use planner pipedream for schedule pipedream, contiguous or madpipe for 1f1b-star");
  }
  require_straight(pipedream_sync_planner, request);
  PlanResult result = plan_side_by_side(pipedream_sync_planner, request, plan_with_turns);
  if (auto* planned = std::get_if<Planned>(&result)) planned->plan.planner = pipedream_sync_planner.name;
  return result;
}

std::vector<OptionInfo> options_of_sync() {
  std::vector<OptionInfo> options = pipedream::options();
  options.push_back(pipelines_option());
  return options;
}

}  // namespace

const PlannerInfo pipedream_sync_planner{
    .name = "pipedream-sync",
    .summary = "the stages and replicas of planner pipedream, run with a flush at the end of each iteration",
    .source = "Narayanan et al., PipeDream, SOSP 2019; the flush as in PipeDream-Flush, ICML 2021",
    .default_schedule = "1f1b",
    .options = options_of_sync(),
    .plan = plan_flushed,
    .cuts_by_memory = true,
    .levels_devices = true,
    .variants = pipeline_variants,
};

}  // namespace stagecraft
