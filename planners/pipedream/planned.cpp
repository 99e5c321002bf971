#include "planners/pipedream/planned.hpp"

#include "planners/pipedream/update_rounds.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/evaluated_claim.hpp"
#include "planners/shared/costs/pipeline_claim.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft {

extern const PlannerInfo pipedream_planner;

namespace pipedream {
namespace {

/// Gives each segment its devices: the next `replicas` members of its level. A level occurs several times if a segment
/// of the level above has several members; `places` are the first devices of its occurrences, and each of them gets a
/// copy of the segments. `unit` is the number of devices in a member.
void place(const DownSets& states, const std::vector<Segment>& segments, const std::vector<Level>& levels,
           std::size_t level, const std::vector<std::size_t>& places, std::vector<Stage>& stages) {
  std::size_t unit = 1;
  for (std::size_t inner = 0; inner < level; ++inner) unit *= levels[inner].count;
  std::size_t used = 0;
  for (const Segment& segment : segments) {
    std::vector<std::size_t> members;
    for (std::size_t first : places) {
      for (std::size_t i = 0; i < segment.replicas; ++i) members.push_back(first + (used + i) * unit);
    }
    used += segment.replicas;
    if (level > 0) {
      place(states, segment.inner, levels, level - 1, members, stages);
      continue;
    }
    stages.emplace_back();
    stages.back().layers = layers_between(states, segment.from, segment.to);
    for (std::size_t device : members) stages.back().replicas.emplace_back(DeviceId(device));
  }
}

/// PipeDream's NOAM: the microbatches that it admits for each replica of the first stage.
std::int64_t noam(const Plan& plan) {
  std::size_t devices = 0;
  for (const Stage& stage : plan.stages) devices += stage.replicas.size();
  const std::size_t first = plan.stages.front().replicas.size();
  return static_cast<std::int64_t>((devices + first - 1) / first);
}

Detail::Record details_of(const Problem& problem, const DownSets& states, const Answer& answer, const Plan& plan) {
  Settings settings = problem.settings;
  const auto rounds = static_cast<double>(plan.rounds_per_update);
  const bool is_as_searched = !problem.request.samples_per_update || rounds == settings.rounds_per_update;
  if (!is_as_searched) settings.rounds_per_update = rounds;
  const double period = is_as_searched ? answer.period : period_of(states, settings, answer.segments);
  settings.levels = problem.levels;
  Detail::List levels;
  for (const Level& level : settings.levels) {
    levels.emplace_back(
        Detail::Record{{"members", std::int64_t{level.count}}, {"bandwidth_bytes_per_s", level.bandwidth.value()}});
  }
  return {{"claimed_period_s", period},
          {"data_parallel_s", data_parallel_time(states, settings)},
          {"total_compute_s", states.compute[states.count - 1] * settings.time_factor},
          {"noam", noam(plan)},
          {"states", static_cast<std::int64_t>(states.count)},
          {"width", static_cast<std::int64_t>(states.width)},
          {"levels", std::move(levels)},
          {"time_factor", settings.time_factor},
          {"memory_bytes", smallest_capacity(problem.request.platform).value()}};
}

}  // namespace

Planned planned(const Problem& problem, const DownSets& states, const Answer& answer) {
  Planned result{empty_plan(pipedream_planner, problem.request), {}};
  Plan& plan = result.plan;
  const std::size_t outermost = problem.levels.empty() ? 0 : problem.levels.size() - 1;
  place(states, answer.segments, problem.levels, outermost, {0}, plan.stages);
  for (Stage& stage : plan.stages) apply(problem.choices, stage);
  plan.rounds_per_update = rounds_of(problem.request, plan, problem.choices.weight_versions.has_value()).value_or(1);
  plan.predicted = is_claim_evaluated(plan) ? evaluated_claim(problem.request, plan)
                                            : pipeline_claim(problem.request.graph, problem.request.platform, plan);
  result.details = details_of(problem, states, answer, plan);
  if (states.width > 0) {
    result.notes.push_back("the graph has too many down-sets; this plan is the best on " +
                           std::to_string(states.count) + " of them, at most " + std::to_string(states.width) +
                           " of each size");
  }
  return result;
}

}  // namespace pipedream
}  // namespace stagecraft
