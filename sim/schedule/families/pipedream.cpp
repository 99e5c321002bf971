#include "sim/model/plan.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace stagecraft {

extern const ScheduleFamily family_pipedream;

namespace {

/// Stages that hold a layer in several pipelines reduce its gradients together, and a round is complete only when every
/// replica has run a microbatch in it. If some replicas run fewer microbatches, the others wait for them forever.
ScheduleRefusals round_refusals(const PlanContext& context) {
  const Replicas& replicas = context.replicas;
  const auto alternating = [&](StageId stage) {
    return std::to_string(alternating_replicas(context.plan.stages[stage.value()]));
  };
  for (const GradientRing& ring : replicas.rings()) {
    const Replica& first = replicas[ring.members.front()];
    for (ReplicaId member : ring.members) {
      const Replica& own = replicas[member];
      if (own.turns == first.turns) continue;
      return {{fmt::format("pipedream runs an all-reduce after each round, in which every replica has had its turns; "
                           "stages {} and {} hold the same layers, but {} and {} of their replicas take microbatches "
                           "in turn: use the same number, or divide microbatches on both (replication: split)",
                           first.stage.value(), own.stage.value(), alternating(first.stage), alternating(own.stage)),
               ""}};
    }
  }
  return {};
}

/// A backward uses the weights of its forward. So a replica keeps the newest weights, and a copy for each update
/// between the oldest forward in flight and now: one for each further microbatch in flight if every round has its
/// update.
Compilation compile_pipedream(const PlanContext& context, const Options& parameters) {
  ScheduleRefusals refusals = round_refusals(context);
  if (!refusals.empty()) return refusals;
  ScheduleProgram program = one_f_one_b_program(context, false, parameters.count("depth"));
  for (ReplicaId id : context.replicas.all()) {
    const Replica& own = context.replicas[id];
    const std::int64_t apart = own.taken * context.plan.rounds_per_update;  // backwards from one update to the next
    std::int64_t& versions = program.weight_versions[own.stage.value()];
    versions = std::max(versions, (program.in_flight_on(id, own.stage) - 1 + apart - 1) / apart + 1);
  }
  return program;
}

}  // namespace

const ScheduleFamily family_pipedream{
    .name = "pipedream",
    .summary =
        "asynchronous 1F1B with weight stashing: never flushed, an update after every backward (or round of replicas)",
    .source = "PipeDream (Narayanan et al., SOSP 2019)",
    .synchronous = false,
    .parameters = {{"depth", std::int64_t{1}, "warm-up forwards, as a multiple of PipeDream's own", {}, 1, 1024}},
    .compile = compile_pipedream,
};

}  // namespace stagecraft
