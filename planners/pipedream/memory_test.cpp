#include "planners/pipedream/memory_test.hpp"

#include "planners/pipedream/level_costs.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/periodic.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft::pipedream {
namespace {

/// The copies of the weights and the microbatches in flight that the schedule gives to a stage of `replicas` replicas,
/// with all `downstream` replicas as one further stage; gradients and optimizer count as weights. For a periodic
/// schedule they depend on the times of the stages, which are not known yet; there the numbers in flight of PipeDream's
/// order are taken, with the two weight versions of a periodic schedule.
Copies schedule_copies(const PlanRequest& request, const MemoryChoices& choices, std::int64_t replicas,
                       std::int64_t downstream) {
  const bool is_periodic = request.schedule.name == "1f1b-star";
  Plan plan;
  plan.schedule = is_periodic ? ScheduleChoice{"pipedream", {}} : request.schedule;
  plan.microbatches = request.microbatches;
  plan.rounds_per_update = choices.rounds_per_update;
  std::uint32_t next_device = 0;
  const auto add_stage = [&](std::int64_t count) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers.emplace_back(plan.stages.size() - 1);  // different layers, as stages of the same layers share a ring
    for (std::int64_t i = 0; i < count; ++i) stage.replicas.emplace_back(DeviceId(next_device++));
    stage.in_flight = choices.in_flight;
  };
  add_stage(replicas);
  if (downstream > 0) add_stage(downstream);
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  std::int64_t versions = is_periodic ? kPeriodicWeightVersions : program.weight_versions.front();
  if (choices.weight_versions) versions = std::min(versions, *choices.weight_versions);
  return {state_copies(request.training, versions, replicas * request.pipelines * request.graph.copies.plain),
          static_cast<double>(program.in_flight.front())};
}

}  // namespace

void apply(const MemoryChoices& choices, Stage& stage) {
  if (choices.recompute) stage.memory = {Recompute{stage.layers}};
  stage.in_flight = choices.in_flight;
}

MemoryTest original_memory_test(Bytes limit) {
  MemoryTest test;
  test.capacity = static_cast<double>(limit.value());
  test.copies = [](std::int64_t replicas, std::int64_t downstream) {
    const std::int64_t versions = (downstream + replicas - 1) / replicas;
    return Copies{static_cast<double>(versions), static_cast<double>(versions)};
  };
  return test;
}

MemoryTest ledger_memory_test(const PlanRequest& request, const DownSets& states, const MemoryChoices& choices,
                              Consumers consumers) {
  MemoryTest test;
  test.whole_pipeline = true;
  test.capacity = static_cast<double>(smallest_capacity(request.platform).value());
  using Counts = std::pair<std::int64_t, std::int64_t>;
  test.copies = [&request, choices, known = std::map<Counts, Copies>()](std::int64_t replicas,
                                                                        std::int64_t downstream) mutable {
    const auto [found, is_new] = known.try_emplace({replicas, downstream});
    if (is_new) found->second = schedule_copies(request, choices, replicas, downstream);
    return found->second;
  };
  const bool has_tied = !request.graph.tied.empty();
  const bool has_stash = choices.recompute || !request.graph.tensors.empty() || has_tied;
  const bool has_divided = request.training.zero >= 2 && consumers == Consumers::Every;
  const std::size_t entries = states.count * (states.count + 1) / 2;
  test.fixed.resize(entries);
  if (has_tied) test.parameters.resize(entries);
  if (has_stash) test.stash.resize(entries);
  ChangingStage stage(request.graph, states, choices.recompute, consumers);
  for (std::size_t end = 0, at = 0; end < states.count; ++end) {
    for (std::size_t k = 0; k <= end; ++k, ++at) {
      if (k > 0 && !precedes(states, k - 1, end)) continue;
      stage.become(k - 1, end);
      const StageProgram work = stage.work();
      const StaticMemory held = static_memory(request.training, {Bytes(0)}, stage.exchanged(), {});
      test.fixed[at] = static_cast<double>(peak_memory(held, work, 0).value());
      if (has_divided) {
        const std::vector<LayerId> layers = layers_between(states, k - 1, end);
        test.fixed[at] += static_cast<double>(divided_buffers(request.graph, request.training, layers).value());
      }
      if (has_tied) test.parameters[at] = static_cast<double>(work.parameters.value());
      if (has_stash) test.stash[at] = static_cast<double>(work.stash().value());
    }
  }
  return test;
}

double ledger_test_work(const PlanRequest& request, std::size_t state_count) {
  const auto n = static_cast<double>(state_count);
  return n * n / 2.0 * static_cast<double>(request.graph.layers.size() + request.graph.edges.size());
}

}  // namespace stagecraft::pipedream
