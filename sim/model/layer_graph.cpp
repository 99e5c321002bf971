#include "sim/model/layer_graph.hpp"

#include "sim/base/error.hpp"
#include "sim/model/measured_profiles.hpp"

#include <algorithm>

namespace stagecraft {

std::shared_ptr<const ProfileSource> profiles_of(const Model& model) {
  return model.computed ? model.computed : std::make_shared<MeasuredProfiles>(model.profiles);
}

ScaledProfile at_microbatch_size(const Model& model, std::int64_t microbatch_size,
                                 const std::optional<std::string>& kind) {
  STAGECRAFT_CHECK(!model.profiles.empty() && microbatch_size > 0, "a profile and a positive microbatch size");
  const std::shared_ptr<const ProfileSource> source = profiles_of(model);
  const std::string& wanted = kind ? *kind : model.profiles.front().device_kind;
  ScaledProfile scaled{source->profile(wanted, microbatch_size), source->basis(wanted, microbatch_size)};
  if (model.computed || model.profiles.size() > 1) scaled.graph.own_times = source;
  return scaled;
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
