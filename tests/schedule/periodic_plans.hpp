#pragma once

#include "sim/base/ticks.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/periodic.hpp"
#include "sim/schedule/stage_program.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/random_plans.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A chain of the specification's vectors: a unit of time is a second, one of memory a byte.
struct VectorChain {
  std::vector<double> forward;
  std::vector<double> backward;
  std::vector<std::int64_t> weights;
  std::vector<std::int64_t> tensors;  ///< a[0], the input, to a[L]
};
inline VectorChain vector_m1() { return {{2, 2, 3, 1}, {4, 4, 6, 2}, {1, 1, 2, 4}, {4, 4, 2, 2, 1}}; }
inline VectorChain vector_m2() { return {{1, 1, 2, 1, 3}, {5, 1, 2, 3, 5}, {3, 1, 3, 1, 0}, {6, 4, 2, 6, 4, 6}}; }

inline LayerGraph graph_of(const VectorChain& vector) {
  LayerGraph graph = chain(vector.forward.size(), 0, 0);
  graph.input = Bytes(vector.tensors.front());
  for (LayerId id : indices(graph.layers)) {
    const std::size_t i = id.value();
    Layer& layer = graph.layers[id];
    layer.forward = Seconds(vector.forward[i]);
    layer.backward = Seconds(vector.backward[i]);
    layer.backward_weight = layer.backward * 0.5;
    layer.parameters = Bytes(vector.weights[i]);
    layer.stash = layer.checkpoint = Bytes(vector.tensors[i]);
    layer.output = Bytes(vector.tensors[i + 1]);
    if (i > 0) graph.edges[i - 1].bytes = Bytes(vector.tensors[i]);
  }
  return graph;
}

/// Half-duplex exclusive links without latency, one for each pair of devices.
inline Platform vector_platform(std::size_t devices, double bandwidth, std::int64_t memory) {
  PlatformSpec spec = pairwise(devices, bandwidth, 0.0, Duplex::Half, Sharing::Exclusive).spec;
  spec.device_kinds[DeviceKindId(0)].memory = Bytes(memory);
  return build_platform(std::move(spec));
}

/// Stages of [first[s], first[s + 1]) layers, each on the device named for it.
inline Plan star_plan(std::size_t layers, const std::vector<std::size_t>& first,
                      const std::vector<std::uint32_t>& devices, std::int64_t microbatches = 60) {
  Plan plan;
  plan.model = "chain";
  plan.platform = "pairwise";
  plan.microbatches = microbatches;
  plan.schedule.name = "1f1b-star";
  plan.training = {1, 0, 2, 0.0};
  for (std::size_t s = 0; s < first.size(); ++s) {
    Stage stage;
    const std::size_t end = s + 1 < first.size() ? first[s + 1] : layers;
    for (std::size_t layer = first[s]; layer < end; ++layer) stage.layers.emplace_back(layer);
    stage.replicas = {DeviceId(devices[s])};
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

/// Vector M2: layers 1 and 5 on the special device, 2 to 4 on the other, and the solution for a period of 14.
inline Plan plan_m2() {
  Plan plan = star_plan(5, {0, 1, 4}, {0, 1, 0});
  plan.pattern = Pattern{Seconds(14),
                         true,
                         {{false, 0, false, Seconds(0), 0},
                          {true, 0, false, Seconds(2), 0},
                          {false, 1, false, Seconds(4), 0},
                          {true, 1, false, Seconds(8), 0},
                          {false, 2, false, Seconds(11), 0},
                          {false, 2, true, Seconds(1), 1},
                          {true, 1, true, Seconds(6), 1},
                          {false, 1, true, Seconds(8), 1},
                          {true, 0, true, Seconds(0), 2},
                          {false, 0, true, Seconds(6), 2}}};
  return plan;
}

/// Random chains with a pattern of their own: stages on any devices, also several on one, each operation as early as
/// what it waits for and what is placed already allow, now and then a little later.
class PeriodicPlans {
 public:
  explicit PeriodicPlans(std::uint32_t seed) : generator_(seed) {}

  RandomCase make() {
    RandomCase result;
    const std::size_t stages = number(1, 6);
    result.graph = graph(stages + number(0, 3));
    const std::size_t devices = number(1, 4);
    result.platform = vector_platform(devices, 1e9, std::int64_t{1} << 50);
    result.plan = plan(result.graph, stages, devices);
    Ticks period = 0;
    do {
      period += static_cast<Ticks>(number(1, 30)) * kUnit;
      result.plan.pattern = pattern(result.graph, result.plan, period);
    } while (!result.plan.pattern);
    result.plan.microbatches = least_length(result.plan) + static_cast<std::int64_t>(number(0, 20));
    return result;
  }

 private:
  static constexpr Ticks kUnit = 1'000'000;  ///< a megabyte on these links

  std::size_t number(std::size_t low, std::size_t high) {
    return std::uniform_int_distribution<std::size_t>(low, high)(generator_);
  }
  Seconds time(std::size_t most) { return to_seconds(static_cast<Ticks>(number(0, most)) * kUnit); }
  Bytes bytes(std::size_t most) { return Bytes(static_cast<std::int64_t>(number(0, most))); }

  LayerGraph graph(std::size_t layers) {
    LayerGraph graph = chain(layers, 0, 0);
    for (Layer& layer : graph.layers) {
      layer.forward = time(6);
      layer.backward = time(9);
      layer.parameters = bytes(1000);
      layer.stash = bytes(5000);
      layer.checkpoint = bytes(500);
      layer.workspace = bytes(3000);
      layer.output = Bytes(bytes(4).value() * kUnit);
    }
    for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
    return graph;
  }

  Plan plan(const LayerGraph& graph, std::size_t stages, std::size_t devices) {
    const std::size_t layers = graph.layers.size();
    std::vector<std::size_t> first = {0};
    for (std::size_t s = 1; s < stages; ++s) first.push_back(number(first.back() + 1, layers - (stages - s)));
    std::vector<std::uint32_t> where;
    for (std::size_t s = 0; s < stages; ++s) where.push_back(static_cast<std::uint32_t>(number(0, devices - 1)));
    Plan plan = star_plan(layers, first, where);
    for (Stage& stage : plan.stages) {
      if (number(0, 3) == 0) stage.memory = {Recompute{stage.layers}};
      if (number(0, 3) == 0) stage.memory = {Recompute{{stage.layers.back()}}};
      if (number(0, 3) == 0) stage.weight_versions = static_cast<std::int64_t>(number(1, 4));
    }
    return plan;
  }

  /// Where in a period operations of one device, or of the link between two, are placed.
  using Taken = std::vector<std::pair<Ticks, Ticks>>;

  /// The first start from `earliest` on at which an operation fits into a period; none in all of one.
  static std::optional<Ticks> find_start(const Taken& taken, Ticks earliest, Ticks duration, Ticks period) {
    for (Ticks start = earliest; start < earliest + period; start += kUnit) {
      const Ticks begin = start % period;
      const bool is_free = begin + duration <= period && std::ranges::none_of(taken, [&](const auto& other) {
                             return begin < other.second && other.first < begin + duration;
                           });
      if (is_free) return start;
    }
    return std::nullopt;
  }

  std::optional<Pattern> pattern(const LayerGraph& graph, const Plan& plan, Ticks period) {
    std::map<std::pair<DeviceId, DeviceId>, Taken> taken;
    TickPattern result{period, {}};
    std::map<std::size_t, Ticks> durations;
    Ticks now = 0;
    const auto place = [&](bool is_cut, std::size_t index, bool backward, Ticks duration) {
      const DeviceId a = plan.stages[index].replicas.front().lead();
      const DeviceId b = is_cut ? plan.stages[index + 1].replicas.front().lead() : a;
      Taken& slots = taken[std::minmax(a, b)];
      if (!result.operations.empty() && number(0, 4) == 0) now += kUnit;
      const std::optional<Ticks> start = find_start(slots, now, duration, period);
      if (!start) return false;
      slots.emplace_back(*start % period, *start % period + duration);
      now = *start + duration;
      result.operations.push_back(
          {is_cut, static_cast<std::uint32_t>(index), backward, *start % period, *start / period});
      durations[key(result.operations.back())] = duration;
      return true;
    };
    const auto cut_ticks = [&](std::size_t cut) {
      return ticks_up(cut_bytes_of(graph, plan, cut) / BytesPerSecond(1e9));
    };
    const auto is_cut = [&](std::size_t s) { return plan.stages[s].replicas != plan.stages[s + 1].replicas; };
    const std::size_t stages = plan.stages.size();
    for (std::size_t s = 0; s < stages; ++s) {
      if (!place(false, s, false, ticks_up(stage_program(graph, plan.stages[s]).forward))) return std::nullopt;
      if (s + 1 < stages && is_cut(s) && !place(true, s, false, cut_ticks(s))) return std::nullopt;
    }
    for (std::size_t s = stages; s-- > 0;) {
      if (!place(false, s, true, ticks_up(stage_program(graph, plan.stages[s]).backward_total()))) return std::nullopt;
      if (s > 0 && is_cut(s - 1) && !place(true, s - 1, true, cut_ticks(s - 1))) return std::nullopt;
    }
    list_in_order(result.operations, [&](const TickOperation& o) { return durations.at(key(o)); });
    return to_pattern(result, true);
  }

  static std::size_t key(const TickOperation& o) {
    return std::size_t{4} * o.index + (o.is_cut ? 2 : 0) + (o.backward ? 1 : 0);
  }
  static Bytes cut_bytes_of(const LayerGraph& graph, const Plan& plan, std::size_t cut) {
    return graph.layers[plan.stages[cut].layers.back()].output;
  }

  std::mt19937 generator_;
};

/// Release as soon as possible.
inline Plan asap(Plan plan) {
  plan.schedule.parameters = {{"release", "asap"}};
  return plan;
}

}  // namespace stagecraft::testing
