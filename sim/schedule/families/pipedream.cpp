#include "sim/model/plan.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <cstdint>

namespace stagecraft {

extern const ScheduleFamily family_pipedream;

namespace {

/// A backward uses the weights of its forward. So a replica keeps the newest weights, and a copy for each update
/// between the oldest forward in flight and now: one for each further microbatch in flight if every round has its
/// update.
Compilation compile_pipedream(const PlanContext& context, const Options& parameters) {
  ScheduleRefusals refusals = round_refusals(context, "pipedream");
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
