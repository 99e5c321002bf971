#include "planners/shared/costs/evaluated_claim.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>

namespace stagecraft {
namespace {

constexpr std::int64_t kEvaluatedWork = 16'384;  ///< microbatches on stages, together
constexpr std::int64_t kLeastGroups = 4;         ///< the pipeline is full before the last one

Seconds evaluated_time(const PlanRequest& request, const ScheduleProgram& program, std::int64_t microbatches) {
  const ScheduleProgram part = with_length(request.graph, request.platform, program, {microbatches, 0});
  return evaluate_iteration(request.graph, request.platform, part);
}

bool has_pipelines(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.pipeline > 0; });
}

/// Whether replicas of some neighbours take turns in different numbers. A replica that waits for its turn in the order
/// of the schedule may lose it for good.
bool has_uneven_turns(const Plan& plan) {
  return std::ranges::adjacent_find(plan.stages, std::ranges::not_equal_to{}, alternating_replicas) !=
         plan.stages.end();
}

/// Microbatches after which a fixed order repeats itself, or the replicas of all stages have had the same number of
/// turns: about as many as there are devices, unless that takes many more.
std::int64_t group_of(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  if (require_family(plan.schedule.name).orders != nullptr) return program.repeats;
  const auto devices = std::ssize(Replicas(plan).devices());
  std::int64_t turns = 1;
  for (const Stage& stage : plan.stages) turns = std::min(std::lcm(turns, alternating_replicas(stage)), devices + 1);
  return turns > devices ? devices : (devices + turns - 1) / turns * turns;
}

}  // namespace

void require_connected(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  for (const Violation& violation : check_plan(graph, platform, plan)) {
    if (violation.rule != Violation::Rule::Connection) continue;
    throw InputError("planner " + quote(plan.planner) +
                         " made a plan that needs a route that the platform does not have: " + violation.message,
                     {}, "give their nodes a nic; in an explicit platform, add a link, a route or a default_link");
  }
}

std::int64_t evaluated_microbatches(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  const std::int64_t group = group_of(program);
  const std::int64_t affordable = kEvaluatedWork / (std::ssize(plan.stages) * group);
  const std::int64_t most = std::max(kLeastGroups, affordable) * group;
  return plan.microbatches <= most ? plan.microbatches : most + (plan.microbatches - most) % group;
}

Figures evaluated_claim(const PlanRequest& request, const Plan& plan) {
  require_connected(request.graph, request.platform, plan);
  // A plan that is refused whole is refused here too, where only a part is evaluated.
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  const std::int64_t group = group_of(program);
  const std::int64_t part = evaluated_microbatches(program);
  Figures figures;
  figures.iteration_time = evaluated_time(request, program, part);
  if (plan.microbatches == part) return figures;
  const Seconds last = *figures.iteration_time - evaluated_time(request, program, part - group);
  *figures.iteration_time += last * (static_cast<double>(plan.microbatches - part) / static_cast<double>(group));
  return figures;
}

bool is_claim_evaluated(const Plan& plan) {
  const ScheduleFamily& family = require_family(plan.schedule.name);
  return family.synchronous && (!family.has_formula() || has_pipelines(plan) || has_uneven_turns(plan));
}

}  // namespace stagecraft
