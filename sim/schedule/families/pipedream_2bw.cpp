#include "sim/base/counted.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/one_f_one_b.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace stagecraft {

extern const ScheduleFamily family_pipedream_2bw;

namespace {

constexpr std::int64_t kBuffers = 2;

/// A backward uses the weights of its forward. With the newest weights and those before, there may be one update
/// between the two, so a batch has at least as many microbatches as a replica starts before its first backward.
Compilation compile_pipedream_2bw(const PlanContext& context, const Options& /*parameters*/) {
  ScheduleRefusals refusals = round_refusals(context, "pipedream-2bw");
  if (!refusals.empty()) return refusals;
  ScheduleProgram program = one_f_one_b_program(context, false, 1);
  std::int64_t rounds = 1;
  for (const ReplicaId id : context.replicas.all()) {
    const Replica& own = context.replicas[id];
    const std::int64_t ahead = program.in_flight_on(id, own.stage) - 1;
    rounds = std::max(rounds, (ahead + own.taken - 1) / own.taken);
  }
  if (rounds > context.plan.rounds_per_update) {
    return ScheduleRefusals{
        {fmt::format(
             "pipedream-2bw keeps two versions of the weights, so the plan has to update after at least {}, but "
             "it does so after {}",
             counted(rounds, "round"), context.plan.rounds_per_update),
         "choose more samples with --samples-per-update"}};
  }
  program.weight_versions.assign(context.plan.stages.size(), kBuffers);
  return program;
}

}  // namespace

const ScheduleFamily family_pipedream_2bw{
    .name = "pipedream-2bw",
    .summary = "asynchronous 1F1B with two versions of the weights: never flushed, an update after each batch",
    .source = "PipeDream-2BW (Narayanan et al., ICML 2021)",
    .synchronous = false,
    .parameters = {},
    .compile = compile_pipedream_2bw,
};

}  // namespace stagecraft
