#include "planners/pipedream/memory_test.hpp"

#include "planners/shared/cost_model.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/periodic.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft::pipedream {
namespace {

/// An edge between bits of the sets.
struct BitEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  Bytes bytes;
};

/// All edges, sorted by producer, so that the edges of a tensor are consecutive.
std::vector<BitEdge> bit_edges(const LayerGraph& graph, const DownSets& states) {
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t bit = 0; bit < states.order.size(); ++bit) position[states.order[bit]] = bit;
  std::vector<BitEdge> edges;
  for (const LayerEdge& edge : graph.edges) edges.push_back({position[edge.from], position[edge.to], edge.bytes});
  std::ranges::stable_sort(edges, {}, &BitEdge::from);
  return edges;
}

/// Bytes that enter and leave the stage (start, end] for one microbatch.
Bytes crossing_bytes(const DownSets& states, const std::vector<BitEdge>& edges, std::size_t start, std::size_t end,
                     Consumers consumers) {
  Bytes sum;
  Bytes tensor;  // largest edge of the current producer that crosses and is counted once
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const BitEdge& edge = edges[i];
    const auto is_before = [&](std::size_t bit) { return start != kNothing && states.contains(start, bit); };
    const bool enters = is_before(edge.from) && !is_before(edge.to) && states.contains(end, edge.to);
    const bool leaves = !is_before(edge.from) && states.contains(end, edge.from) && !states.contains(end, edge.to);
    if (leaves && consumers == Consumers::Every) {
      sum += edge.bytes;
    } else if (enters || leaves) {
      tensor = std::max(tensor, edge.bytes);
    }
    if (i + 1 == edges.size() || edges[i + 1].from != edge.from) {
      sum += tensor;
      tensor = Bytes(0);
    }
  }
  return sum;
}

/// The work of the stage (start, end], without times where nothing is recomputed.
StageProgram stage_work(const LayerGraph& graph, const DownSets& states, std::size_t start, std::size_t end,
                        const MemoryChoices& choices) {
  Stage stage;
  stage.layers = layers_between(states, start, end);
  if (choices.recompute) {
    apply(choices, stage);
    return stage_program(graph, stage);
  }
  StageProgram work;
  for (LayerId id : stage.layers) {
    const Layer& layer = graph.layers[id];
    work.workspace = std::max(work.workspace, layer.workspace);
  }
  work.parameters = parameters_of(graph, stage.layers);
  if (!graph.tensors.empty() || !graph.tied.empty()) work.kept = stash_of(graph, stage.layers);
  return work;
}

/// The weight versions and microbatches in flight that the schedule gives to a stage of `replicas` replicas, with all
/// `downstream` replicas as one further stage. For a periodic schedule they depend on the times of the stages, which
/// are not known yet; there the numbers in flight of PipeDream's order are taken, with the two weight versions of a
/// periodic schedule.
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
  return {static_cast<double>(versions), static_cast<double>(program.in_flight.front())};
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
  const std::vector<BitEdge> edges = bit_edges(request.graph, states);
  for (std::size_t end = 0; end < states.count; ++end) {
    for (std::size_t k = 0; k <= end; ++k) {
      const StageProgram work = stage_work(request.graph, states, k - 1, end, choices);
      const Bytes boundary = crossing_bytes(states, edges, k - 1, end, consumers);
      const StaticMemory held = static_memory(request.training, work, 0, boundary, {});
      test.fixed.push_back(static_cast<double>(peak_memory(held, work, 0).value()));
      const bool has_tied = !request.graph.tied.empty();
      if (has_tied) test.parameters.push_back(static_cast<double>(work.parameters.value()));
      if (choices.recompute || !request.graph.tensors.empty() || has_tied)
        test.stash.push_back(static_cast<double>(work.stash().value()));
    }
  }
  return test;
}

double ledger_test_work(const PlanRequest& request, std::size_t state_count) {
  const auto n = static_cast<double>(state_count);
  return n * n / 2.0 * static_cast<double>(request.graph.layers.size() + request.graph.edges.size());
}

}  // namespace stagecraft::pipedream
