#include "experiments/run/update_size.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/updates.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

/// samples / unit. `what` says what has `unit` samples.
std::int64_t whole_parts(std::int64_t samples, std::int64_t unit, const std::string& what) {
  if (samples % unit == 0) return samples / unit;
  const std::int64_t below = samples / unit * unit;
  const std::string nearest = (below > 0 ? std::to_string(below) + " and " : "") + std::to_string(below + unit);
  throw InputError("an update of " + counted(samples, "sample") + " is not a multiple of the " + std::to_string(unit) +
                       " samples of " + what,
                   {}, "the nearest multiples: " + nearest);
}

}  // namespace

std::int64_t microbatches_of_update(std::int64_t samples, std::int64_t of_microbatch) {
  return whole_parts(samples, of_microbatch, "a microbatch");
}

ScheduleProgram with_samples_per_update(const LayerGraph& graph, const Platform& platform, ScheduleProgram program,
                                        std::int64_t samples) {
  const Plan plan = program.kept->plan;
  Plan changed = plan;
  if (program.synchronous) {
    changed.microbatches = microbatches_of_update(samples, plan.microbatch_size * plan.degrees.samples());
  } else {
    const std::int64_t of_round = largest(stage_updates(graph, program)).samples / plan.rounds_per_update;
    changed.rounds_per_update = whole_parts(samples, of_round, "a round of the plan's replicas");
  }
  if (changed != plan) changed.predicted = {};
  program = recompiled(graph, platform, std::move(program), changed);
  if (program.synchronous) return program;
  changed.microbatches = std::max(plan.microbatches, least_microbatches(program, program.kept->replicas));
  return recompiled(graph, platform, std::move(program), changed);
}

}  // namespace stagecraft
