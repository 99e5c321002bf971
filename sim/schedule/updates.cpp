#include "sim/schedule/updates.hpp"

#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

StageUpdates asynchronous_updates(const ScheduleProgram& program, StageId stage) {
  const Plan& plan = program.kept->plan;
  const Replicas& replicas = program.kept->replicas;
  const std::int64_t in_round = replicas[replicas.of(stage).front()].turns;  // microbatches
  const bool reduces = replicas.rings()[replicas.rings_of(stage).front()].members.size() > 1;
  // Of the microbatches in flight at a forward, all but its own have their backwards between it and its own backward,
  // and so has the round whose all-reduce is under way.
  const std::int64_t rounds = program.in_flight[stage.value()] - 1 + (reduces ? 1 : 0);
  const std::int64_t apart = plan.rounds_per_update;
  return {plan.microbatch_size * in_round * apart, (rounds + apart - 1) / apart};
}

}  // namespace

std::vector<StageUpdates> stage_updates(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  std::vector<StageUpdates> updates;
  for (StageId stage : indices<StageId>(plan.stages.size())) {
    updates.push_back(program.synchronous ? StageUpdates{plan.microbatch_size * plan.microbatches, 0}
                                          : asynchronous_updates(program, stage));
  }
  return updates;
}

StageUpdates largest(const std::vector<StageUpdates>& updates) {
  StageUpdates largest;
  for (const StageUpdates& each : updates) {
    largest.samples = std::max(largest.samples, each.samples);
    largest.staleness = std::max(largest.staleness, each.staleness);
  }
  return largest;
}

}  // namespace stagecraft
