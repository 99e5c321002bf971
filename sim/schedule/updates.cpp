#include "sim/schedule/updates.hpp"

#include "sim/schedule/kept_plan.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

bool have_weights(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  return std::ranges::any_of(layers, [&](LayerId id) { return graph.layers[id].parameters > Bytes(0); });
}

bool have_weights(const LayerGraph& graph) {
  return std::ranges::any_of(graph.layers, [](const Layer& layer) { return layer.parameters > Bytes(0); });
}

/// Whether updates of the stage wait for an all-reduce of an asynchronous run.
bool reduces(const LayerGraph& graph, const KeptPlan& kept, StageId stage) {
  const Replicas& replicas = kept.replicas;
  const bool has_copies = std::ranges::any_of(replicas.rings_of(stage), [&](std::size_t ring) {
    return in_ring(replicas, replicas.rings()[ring].members.size()) > 1 &&
           have_weights(graph, replicas.rings()[ring].layers);
  });
  return has_copies || std::ranges::any_of(kept.work->tied(), [&](const TiedRing& ring) {
           return in_ring(replicas, ring.members.size()) > 1 && ring.stages.front() == stage;
         });
}

StageUpdates asynchronous_updates(const LayerGraph& graph, const ScheduleProgram& program, StageId stage) {
  const Plan& plan = program.kept->plan;
  const Replicas& replicas = program.kept->replicas;
  const std::int64_t in_round = replicas[replicas.of(stage).front()].turns;  // microbatches
  const std::int64_t apart = plan.rounds_per_update;
  const std::int64_t samples = samples_of_microbatch(plan) * in_round * apart;
  if (!have_weights(graph, plan.stages[stage.value()].layers)) return {have_weights(graph) ? 0 : samples, 0};
  // Of the microbatches in flight at a forward, all but its own have their backwards between it and its own backward,
  // and so has the round whose all-reduce is under way.
  std::int64_t staleness = 0;
  for (const ReplicaId id : replicas.of(stage)) {
    const std::int64_t taken = replicas[id].taken;
    const std::int64_t reduced = reduces(graph, *program.kept, stage) ? taken : 0;
    const std::int64_t backwards = program.in_flight_on(id, stage) - 1 + reduced;
    staleness = std::max(staleness, (backwards + taken * apart - 1) / (taken * apart));
  }
  return {samples, staleness};
}

}  // namespace

std::vector<StageUpdates> stage_updates(const LayerGraph& graph, const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  std::vector<StageUpdates> updates;
  for (StageId stage : indices<StageId>(plan.stages.size())) {
    updates.push_back(program.synchronous ? StageUpdates{samples_of_microbatch(plan) * plan.microbatches, 0}
                                          : asynchronous_updates(graph, program, stage));
  }
  return updates;
}

StageUpdates largest(const std::vector<StageUpdates>& updates) {
  StageUpdates largest{0, 0};
  for (const StageUpdates& each : updates) {
    largest.samples = std::max(largest.samples, each.samples);
    largest.staleness = std::max(largest.staleness, each.staleness);
  }
  return largest;
}

std::int64_t fewest_samples(const std::vector<StageUpdates>& updates) {
  std::int64_t fewest = largest(updates).samples;
  for (const StageUpdates& each : updates) {
    if (each.samples > 0) fewest = std::min(fewest, each.samples);
  }
  return fewest;
}

}  // namespace stagecraft
