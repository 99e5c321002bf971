#include "planners/pipedream/update_rounds.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/updates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace stagecraft::pipedream {
namespace {

/// The largest updates of the plan with one round for each, in a run that is long enough for its warm-up.
StageUpdates updates_of(const PlanRequest& request, Plan plan) {
  plan.rounds_per_update = 1;
  for (;;) {
    const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
    const std::int64_t least = least_microbatches(program, program.kept->replicas);
    if (plan.microbatches >= least) return largest(stage_updates(request.graph, program));
    plan.microbatches = least;
  }
}

}  // namespace

std::vector<RoundsToTry> rounds_to_try(const PlanRequest& request) {
  const std::int64_t samples = request.samples_per_update.value_or(1);
  const std::int64_t size = request.graph.microbatch_size;
  if (!request.samples_per_update || !is_asynchronous(request.schedule) || samples % size != 0) return {{}};
  std::vector<RoundsToTry> tries{{}};
  const auto devices = static_cast<std::int64_t>(request.platform.devices.size());
  for (std::int64_t replicas = 1; replicas <= devices; ++replicas) {
    const std::int64_t of_round = size * replicas;
    if (samples % of_round == 0) tries.push_back({samples / of_round, static_cast<std::size_t>(replicas)});
  }
  return tries;
}

std::optional<std::int64_t> rounds_of(const PlanRequest& request, const Plan& plan, bool two_versions) {
  if (!is_asynchronous(plan.schedule)) return 1;
  if (!request.samples_per_update && !two_versions) return 1;
  const StageUpdates each = updates_of(request, plan);
  const std::int64_t least = two_versions ? std::max<std::int64_t>(each.staleness, 1) : 1;
  if (!request.samples_per_update) return least;
  if (*request.samples_per_update % each.samples != 0) return std::nullopt;
  const std::int64_t rounds = *request.samples_per_update / each.samples;
  return rounds < least ? std::nullopt : std::optional(rounds);
}

void require_two_versions(const PlanRequest& request, const Plan& plan) {
  if (!is_asynchronous(plan.schedule) || !request.samples_per_update) return;
  const StageUpdates each = updates_of(request, plan);
  if (*request.samples_per_update >= each.samples * each.staleness) return;
  throw InputError(
      fmt::format(
          "planner 'pipedream': with two weight versions a microbatch may meet one update between its forward "
          "and its own, and updates of {} samples come more often: the plan has {} samples in a round, and needs {} "
          "rounds between updates",
          *request.samples_per_update, each.samples, each.staleness),
      {},
      "ask for " + std::to_string(each.samples * each.staleness) + " samples per update, or set weight_versions=all");
}

}  // namespace stagecraft::pipedream
