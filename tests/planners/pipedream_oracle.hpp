#pragma once

#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/graph_order.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/planners/pipedream_evaluator.hpp"
#include "tests/schedule/compiled.hpp"

#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

/// Every pipeline of a small problem, and small random problems.
namespace stagecraft::testing {

inline LayerGraph random_chain(unsigned seed, std::size_t layers) {
  std::mt19937 random(seed);
  LayerGraph graph = chain(std::vector<double>(layers, 1.0));
  for (Layer& layer : graph.layers) {
    layer.forward = Seconds(1.0 + random() % 9);
    layer.backward = Seconds(1.0 + random() % 9);
    layer.parameters = Bytes(random() % 200);
    layer.output = Bytes(1 + random() % 200);
    layer.stash = Bytes(random() % 200);
    layer.checkpoint = Bytes(0);
    layer.workspace = Bytes(random() % 50);
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
  return graph;
}

/// Connected with layer 0, which is a source; other layers may be sources too.
inline LayerGraph random_graph(unsigned seed, std::size_t layers) {
  LayerGraph graph = random_chain(seed, layers);
  graph.edges.clear();
  std::mt19937 random(seed + 1000);
  std::vector<std::size_t> part(layers);  // connected parts
  for (std::size_t i = 0; i < layers; ++i) part[i] = i;
  const auto join = [&](std::size_t from, std::size_t to) {
    graph.edges.push_back({LayerId(from), LayerId(to), graph.layers[LayerId(from)].output});
    const std::size_t old = part[to];
    for (std::size_t& each : part) each = each == old ? part[from] : each;
  };
  for (std::size_t to = 1; to < layers; ++to) {
    for (std::size_t from = 0; from < to; ++from) {
      if (random() % 10 < 4) join(from, to);
    }
  }
  for (std::size_t to = 1; to < layers; ++to) {
    if (part[to] != part[0]) join(0, to);
  }
  return graph;
}

/// `nodes` nodes of `devices` devices of kind A.
inline Platform clustered_platform(std::uint32_t nodes, std::uint32_t devices, double inside, double between,
                                   Bytes memory) {
  PlatformSpec spec;
  spec.name = "clustered";
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  NodeKind kind;
  kind.name = "node";
  kind.device_kind = DeviceKindId(0);
  kind.device_count = devices;
  kind.interconnect = Interconnect{SwitchedNode{}, {BytesPerSecond(inside), Seconds(0)}};
  kind.nic = NicSpec{{BytesPerSecond(between), Seconds(0)}};
  NodeForm form;
  form.node_kinds.push_back(kind);
  form.groups = {{NodeKindId(0), nodes}};
  spec.form = form;
  return build_platform(spec);
}

/// The family of down-sets by its definition, smallest first.
inline std::vector<std::set<LayerId>> down_set_family(const LayerGraph& graph) {
  LayerId first = LayerId(0);
  while (!ancestors(graph, first).empty()) ++first;
  std::set<std::set<LayerId>> family{{first}};
  std::vector<std::set<LayerId>> open{{first}};
  while (!open.empty()) {
    const std::set<LayerId> done = open.back();
    open.pop_back();
    for (const LayerEdge& edge : graph.edges) {
      if (!done.contains(edge.from) || done.contains(edge.to)) continue;
      std::set<LayerId> grown = ancestors(graph, edge.to);
      grown.insert(done.begin(), done.end());
      grown.insert(edge.to);
      if (family.insert(grown).second) open.push_back(grown);
    }
  }
  std::vector<std::set<LayerId>> sorted(family.begin(), family.end());
  std::ranges::stable_sort(sorted, {}, [](const std::set<LayerId>& set) { return set.size(); });
  return sorted;
}

/// Enumerates pipelines level by level.
class PipelineEnumeration {
 public:
  PipelineEnumeration(const LayerGraph& graph, const std::vector<Level>& levels, bool use_fewer)
      : levels_(&levels), use_fewer_(use_fewer), order_(canonical_order(graph)), family_(down_set_family(graph)) {}

  /// All pipelines over family_[to] without `from` on exactly (or at most) `members` members of a level.
  [[nodiscard]] std::vector<std::vector<JudgedStage>> all(std::size_t level, const std::set<LayerId>& from,
                                                          const std::set<LayerId>& to, std::size_t members) const {
    std::vector<std::vector<JudgedStage>> result;
    for (std::size_t first = 1; first <= members; ++first) {
      if (first == members || use_fewer_) {
        for (JudgedStage& stage : stages(level, from, to, first)) result.push_back({std::move(stage)});
      }
      if (first == members) break;
      for (const std::set<LayerId>& cut : family_) {
        if (!lies_between(from, cut, to)) continue;
        const auto rests = all(level, cut, to, members - first);
        for (const JudgedStage& stage : stages(level, from, cut, first)) {
          for (const auto& rest : rests) {
            result.push_back({stage});
            result.back().insert(result.back().end(), rest.begin(), rest.end());
          }
        }
      }
    }
    return result;
  }

  [[nodiscard]] std::vector<std::vector<JudgedStage>> whole() const {
    return all(levels_->size() - 1, {}, family_.back(), levels_->back().count);
  }

 private:
  static bool lies_between(const std::set<LayerId>& from, const std::set<LayerId>& cut, const std::set<LayerId>& to) {
    return cut.size() > from.size() && cut.size() < to.size() && std::ranges::includes(cut, from) &&
           std::ranges::includes(to, cut);
  }

  /// The ways to make (from, to] one stage on `replicas` members: several where each member is a pipeline itself.
  [[nodiscard]] std::vector<JudgedStage> stages(std::size_t level, const std::set<LayerId>& from,
                                                const std::set<LayerId>& to, std::size_t replicas) const {
    JudgedStage stage;
    stage.replicas = static_cast<double>(replicas);
    for (LayerId layer : order_) {
      if (to.contains(layer) && !from.contains(layer)) stage.layers.push_back(layer);
    }
    if (level == 0) return {stage};
    std::vector<JudgedStage> ways;
    for (auto& inner : all(level - 1, from, to, (*levels_)[level - 1].count)) {
      ways.push_back(stage);
      ways.back().inner = std::move(inner);
    }
    return ways;
  }

  const std::vector<Level>* levels_;
  bool use_fewer_;
  std::vector<LayerId> order_;
  std::vector<std::set<LayerId>> family_;
};

inline std::vector<std::vector<JudgedStage>> all_pipelines(const LayerGraph& graph, const std::vector<Level>& levels,
                                                           bool use_fewer) {
  return PipelineEnumeration(graph, levels, use_fewer).whole();
}

inline bool is_straight(const std::vector<JudgedStage>& stages) {
  return std::ranges::all_of(
      stages, [](const JudgedStage& stage) { return stage.replicas == 1.0 && is_straight(stage.inner); });
}

/// A figure among a plan's details.
inline double detail_number(const Detail::Record& details, const std::string& name) {
  return std::get<double>(entry(details, name).value);
}

inline void add_stages(const std::vector<JudgedStage>& judged, double outer, std::vector<Stage>& stages,
                       std::size_t& devices) {
  for (const JudgedStage& each : judged) {
    if (!each.inner.empty()) {
      add_stages(each.inner, outer * each.replicas, stages, devices);
      continue;
    }
    stages.emplace_back();
    stages.back().layers = each.layers;
    for (double i = 0; i < outer * each.replicas; i += 1.0) stages.back().replicas.emplace_back(DeviceId(devices++));
  }
}

/// What all stages do to need less memory.
struct JudgedMemory {
  bool recompute = false;
  std::int64_t most_versions = 1000;
  std::optional<std::int64_t> in_flight = std::nullopt;
};

/// The memory that the pipeline needs on every device by the shared ledger, or 0 if it fits. Which devices it has does
/// not matter where all are alike.
inline Bytes ledger_need(const LayerGraph& graph, const Platform& platform, const std::vector<JudgedStage>& judged,
                         const std::string& schedule, std::int64_t microbatches, const JudgedMemory& memory = {}) {
  Plan plan;
  plan.schedule.name = schedule;
  plan.microbatches = microbatches;
  std::size_t devices = 0;
  add_stages(judged, 1.0, plan.stages, devices);
  for (Stage& stage : plan.stages) {
    if (memory.recompute) stage.memory = {Recompute{stage.layers}};
    stage.in_flight = memory.in_flight;
  }
  const std::vector<std::int64_t> versions = testing::compiled(plan).weight_versions;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].weight_versions = std::min(versions[s], memory.most_versions);
  }
  return memory_needed(platform, ledger_peaks(graph, platform, require_schedule(graph, platform, plan)));
}

/// Whether the shared ledger accepts the pipeline.
inline bool fits_ledger(const LayerGraph& graph, const Platform& platform, const std::vector<JudgedStage>& judged,
                        const std::string& schedule, std::int64_t microbatches, const JudgedMemory& memory = {}) {
  return ledger_need(graph, platform, judged, schedule, microbatches, memory) == Bytes(0);
}

}  // namespace stagecraft::testing
