#include "sim/model/layer_graph.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

// Extrapolation beyond the measured sizes may fall below zero; then it is zero.
Seconds blend(Seconds a, Seconds b, double t) { return std::max(Seconds(0), a + (b - a) * t); }
Bytes blend(Bytes a, Bytes b, double t) {
  const double value = static_cast<double>(a.value()) + static_cast<double>((b - a).value()) * t;
  return scale_up(Bytes(1), std::max(0.0, value));
}

/// Every number that depends on the microbatch size, from `a` (t = 0) to `b` (t = 1).
LayerGraph blend(const LayerGraph& a, const LayerGraph& b, double t) {
  LayerGraph result = a;
  result.input = blend(a.input, b.input, t);
  for (LayerId id : indices(a.layers)) {
    Layer& layer = result.layers[id];
    const Layer& other = b.layers[id];
    layer.forward = blend(layer.forward, other.forward, t);
    layer.backward = blend(layer.backward, other.backward, t);
    layer.backward_weight = std::min(blend(layer.backward_weight, other.backward_weight, t), layer.backward);
    layer.output = blend(layer.output, other.output, t);
    layer.stash = blend(layer.stash, other.stash, t);
    layer.checkpoint = std::min(blend(layer.checkpoint, other.checkpoint, t), layer.stash);
    layer.workspace = blend(layer.workspace, other.workspace, t);
  }
  for (std::size_t i = 0; i < result.edges.size(); ++i) {
    result.edges[i].bytes = blend(a.edges[i].bytes, b.edges[i].bytes, t);
  }
  return result;
}

/// A graph whose scalable numbers are all zero: the profile of an empty microbatch.
LayerGraph emptied(const LayerGraph& graph) {
  LayerGraph result = graph;
  result.microbatch_size = 0;
  result.input = Bytes(0);
  for (Layer& layer : result.layers) {
    layer.forward = layer.backward = layer.backward_weight = Seconds(0);
    layer.output = layer.stash = layer.checkpoint = layer.workspace = Bytes(0);
  }
  for (LayerEdge& edge : result.edges) edge.bytes = Bytes(0);
  return result;
}

}  // namespace

ScaledProfile at_microbatch_size(const Model& model, std::int64_t microbatch_size) {
  STAGECRAFT_CHECK(!model.profiles.empty() && microbatch_size > 0, "a profile and a positive microbatch size");
  const auto size_of = [](const LayerGraph& graph) { return graph.microbatch_size; };
  const auto exact = std::ranges::find(model.profiles, microbatch_size, size_of);
  if (exact != model.profiles.end()) return {*exact, false};
  const bool one_size = model.profiles.size() == 1;
  const auto above = std::ranges::upper_bound(model.profiles, microbatch_size, {}, size_of);
  const bool outside = above == model.profiles.begin() || above == model.profiles.end();
  const LayerGraph* high = above == model.profiles.end() ? &model.profiles.back() : &*above;
  const LayerGraph zero = emptied(model.profiles.front());
  const LayerGraph* low = &zero;
  if (!one_size && high != &model.profiles.front()) low = high - 1;
  const double t = static_cast<double>(microbatch_size - low->microbatch_size) /
                   static_cast<double>(high->microbatch_size - low->microbatch_size);
  ScaledProfile result{blend(*low, *high, t), outside && !one_size};
  result.graph.microbatch_size = microbatch_size;
  return result;
}

void apply_memory_defaults(LayerGraph& graph) {
  IndexVector<LayerId, Bytes> inputs(graph.layers.size());
  IndexVector<LayerId, std::size_t> in_degree(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) {
    inputs[edge.to] += edge.bytes;
    ++in_degree[edge.to];
  }
  for (LayerId id : indices(graph.layers)) {
    Layer& layer = graph.layers[id];
    const Bytes input = in_degree[id] > 0 ? inputs[id] : graph.input;
    if (layer.stash < Bytes(0)) layer.stash = input;
    if (layer.checkpoint < Bytes(0)) layer.checkpoint = std::min(input, layer.stash);
  }
}

LayerTotals totals(const LayerGraph& graph) {
  LayerTotals sum;
  for (const Layer& layer : graph.layers) {
    sum.forward += layer.forward;
    sum.backward += layer.backward;
    sum.parameters += layer.parameters;
    sum.stash += layer.stash;
  }
  return sum;
}

}  // namespace stagecraft
