#include "sim/model/layer_graph.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/measured_profiles.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// Profiles whose layers keep their inputs and need no workspace.
class InputProfiles final : public ProfileSource {
 public:
  explicit InputProfiles(std::shared_ptr<const ProfileSource> source) : source_(std::move(source)) {}

  [[nodiscard]] bool has(const std::string& kind) const override { return source_->has(kind); }
  [[nodiscard]] Origin origin(const std::string& kind, std::int64_t samples) const override {
    return source_->origin(kind, samples);
  }

 private:
  [[nodiscard]] LayerGraph make_profile(const std::string& kind, std::int64_t samples) const override {
    return with_stash(source_->profile(kind, samples), StashConvention::Input);
  }

  std::shared_ptr<const ProfileSource> source_;
};

}  // namespace

std::shared_ptr<const ProfileSource> profiles_of(const Model& model) {
  return model.computed ? model.computed : std::make_shared<MeasuredProfiles>(model.profiles);
}

LayerGraph at_microbatch_size(const Model& model, std::int64_t microbatch_size,
                              const std::optional<std::string>& kind) {
  STAGECRAFT_CHECK(!model.profiles.empty() && microbatch_size > 0, "a profile and a positive microbatch size");
  const std::shared_ptr<const ProfileSource> source = profiles_of(model);
  const std::string& wanted = kind ? *kind : model.profiles.front().device_kind;
  LayerGraph graph = source->profile(wanted, microbatch_size);
  graph.origin = source->origin(wanted, microbatch_size);
  if (model.computed || model.profiles.size() > 1) graph.own_times = source;
  return graph;
}

Model sharded(const Model& model, const Degrees& degrees) {
  STAGECRAFT_CHECK(!model.profiles.empty(), "a profile");
  if (degrees.devices() == 1) return model;
  const std::shared_ptr<const ProfileSource> parts = model.computed ? model.computed->sharded(degrees) : nullptr;
  if (!parts) {
    throw InputError(
        "the model " + quote(model.profiles.front().name) + " cannot be divided into a tensor group: its " +
            "figures are those of whole layers on one device",
        {}, "figures of parts are computed for a network known by name, a config.json or an architecture file");
  }
  Model member;
  member.computed = parts;
  for (const LayerGraph& whole : model.profiles) {
    member.profiles.push_back(parts->profile(whole.device_kind, whole.microbatch_size));
    member.profiles.back().name = whole.name;
  }
  return member;
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

LayerGraph with_stash(LayerGraph graph, StashConvention convention) {
  if (convention == StashConvention::Autograd) return graph;
  for (Layer& layer : graph.layers) {
    layer.stash = layer.checkpoint = Bytes(-1);
    layer.workspace = Bytes(0);
    layer.reads.clear();
    layer.keeps.clear();
  }
  graph.tensors.clear();
  apply_memory_defaults(graph);
  if (graph.own_times) graph.own_times = std::make_shared<InputProfiles>(std::move(graph.own_times));
  return graph;
}

Copies held_copies(const LayerGraph& graph) {
  const bool has_experts = std::ranges::any_of(graph.layers, [](const Layer& each) { return each.experts > Bytes(0); });
  return {graph.copies.plain, has_experts ? graph.copies.experts : 1};
}

std::optional<std::int64_t> known_parameter_bytes(const LayerGraph& graph) {
  if (graph.parameter_bytes || graph.origin != Origin::Computed) return graph.parameter_bytes;
  return kPlainParameterBytes;
}

LayerTotals totals(const LayerGraph& graph) {
  LayerTotals sum;
  for (const Layer& layer : graph.layers) {
    sum.forward += layer.forward;
    sum.backward += layer.backward;
    sum.parameters += layer.parameters;
    sum.stash += layer.stash;
  }
  for (const TiedParameters& tied : graph.tied) sum.parameters -= tied.bytes * (std::ssize(tied.layers) - 1);
  return sum;
}

}  // namespace stagecraft
