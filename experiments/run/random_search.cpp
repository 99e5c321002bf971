#include "experiments/run/random_search.hpp"

#include "experiments/run/event_makers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

namespace stagecraft {
namespace {

constexpr std::array<double, 4> kWidths = {0.5, 0.75, 1.5, 2.0};

Bytes scaled(Bytes bytes, double factor) {
  return Bytes(static_cast<std::int64_t>(std::llround(static_cast<double>(bytes.value()) * factor)));
}

void widen(Layer& layer, double factor) {
  for (Seconds* time : {&layer.forward, &layer.backward, &layer.backward_weight}) *time = *time * factor;
  for (Bytes* size : {&layer.parameters, &layer.stash, &layer.workspace}) *size = scaled(*size, factor);
  layer.checkpoint = std::min(layer.checkpoint, layer.stash);
}

/// The edge that brings a layer its only tensor, if the layer's output has the same size.
std::optional<LayerEdge> only_input(const LayerGraph& graph, LayerId layer) {
  std::optional<LayerEdge> input;
  for (const LayerEdge& edge : graph.edges) {
    if (edge.to != layer) continue;
    if (input) return std::nullopt;
    input = edge;
  }
  return input && input->bytes == graph.layers[layer].output ? input : std::nullopt;
}

/// The graph without the layer; its users read what it read.
LayerGraph without(const LayerGraph& graph, LayerId removed, const LayerEdge& input) {
  LayerGraph result = graph;
  result.layers = {};
  for (LayerId id : indices(graph.layers)) {
    if (id != removed) result.layers.push_back(graph.layers[id]);
  }
  const auto renumbered = [&](LayerId id) { return LayerId(id.value() - (id.value() > removed.value() ? 1 : 0)); };
  result.edges = {};
  for (LayerEdge edge : graph.edges) {
    if (edge.to == removed) continue;
    if (edge.from == removed) edge.from = input.from;
    edge = {renumbered(edge.from), renumbered(edge.to), edge.bytes};
    const auto is_same = [&](const LayerEdge& other) { return other.from == edge.from && other.to == edge.to; };
    if (std::ranges::none_of(result.edges, is_same)) result.edges.push_back(edge);
  }
  return result;
}

/// The graph with a copy of the layer behind it, which its users read. The copy comes next in the order of the layers.
LayerGraph with_copy(const LayerGraph& graph, LayerId original, const LayerEdge& input, const std::string& name) {
  LayerGraph result = graph;
  result.layers = {};
  const LayerId copy(original.value() + 1);
  for (LayerId id : indices(graph.layers)) {
    result.layers.push_back(graph.layers[id]);
    if (id != original) continue;
    result.layers.push_back(graph.layers[id]);
    result.layers[copy].name = name;
  }
  const auto renumbered = [&](LayerId id) { return LayerId(id.value() + (id.value() > original.value() ? 1 : 0)); };
  for (LayerEdge& edge : result.edges) {
    edge = {edge.from == original ? copy : renumbered(edge.from), renumbered(edge.to), edge.bytes};
  }
  result.edges.push_back({original, copy, input.bytes});
  return result;
}

class Search {
 public:
  Search(const LayerGraph& first, std::uint64_t seed)
      : draws_(seed), least_layers_((first.layers.size() + 1) / 2), graph_(first) {
    graph_.tensors.clear();
    graph_.tied.clear();
    graph_.own_times = nullptr;
    graph_.work = {Flops(0), Flops(0), first.work.tokens};  // what other layers compute is not known
    for (Layer& layer : graph_.layers) {
      layer.reads.clear();
      layer.keeps.clear();
    }
  }

  [[nodiscard]] const LayerGraph& step(std::int64_t changes) {
    for (std::int64_t i = 0; i < changes; ++i) change();
    return graph_;
  }

 private:
  void change() {
    const LayerId layer(draws_.below(graph_.layers.size()));
    const std::optional<LayerEdge> input = only_input(graph_, layer);
    const std::size_t what = input ? draws_.below(3) : 2;
    if (what == 0) {
      const std::string name = graph_.layers[layer].name + "~" + std::to_string(++copies_);
      graph_ = with_copy(graph_, layer, *input, name);
    } else if (what == 1 && graph_.layers.size() > least_layers_) {
      graph_ = without(graph_, layer, *input);
    } else {
      widen(graph_.layers[layer], kWidths[draws_.below(kWidths.size())]);
    }
  }

  Draws draws_;
  std::size_t least_layers_;
  LayerGraph graph_;
  std::int64_t copies_ = 0;
};

}  // namespace

std::vector<LayerGraph> random_search(const LayerGraph& first, const SearchSteps& search) {
  Search state(first, search.seed);
  std::vector<LayerGraph> models;
  for (std::int64_t step = 1; step <= search.steps; ++step) {
    models.push_back(state.step(search.changes));
    LayerGraph& model = models.back();
    model.name = first.name + "-step" + std::to_string(step);
    model.source = "step " + std::to_string(step) + " of a random architecture search from " + first.name + ", seed " +
                   std::to_string(search.seed);
    model.origin = Origin::Assumed;
  }
  return models;
}

}  // namespace stagecraft
