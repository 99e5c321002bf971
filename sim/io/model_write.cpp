#include "sim/base/text.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/yaml_text.hpp"

#include <utility>

namespace stagecraft {
namespace {

Detail layer_record(const Layer& layer) {
  Detail::Record record = {{"name", layer.name},
                           {"forward", format_seconds(layer.forward)},
                           {"backward", format_seconds(layer.backward)},
                           {"backward_weight", format_seconds(layer.backward_weight)},
                           {"parameters", format_bytes(layer.parameters)},
                           {"output", format_bytes(layer.output)},
                           {"stash", format_bytes(layer.stash)},
                           {"checkpoint", format_bytes(layer.checkpoint)},
                           {"workspace", format_bytes(layer.workspace)}};
  if (!layer.type.empty()) record.emplace_back("type", layer.type);
  return record;
}

Detail edge_list(const LayerGraph& graph, const LayerEdge& edge) {
  Detail::List list = {graph.layers[edge.from].name, graph.layers[edge.to].name};
  if (edge.bytes != graph.layers[edge.from].output) {
    list.push_back(Detail::Record{{"bytes", format_bytes(edge.bytes)}});
  }
  return list;
}

/// The part of a graph that depends on its microbatch size.
Detail::Record profile_record(const LayerGraph& graph) {
  Detail::List layers;
  for (const Layer& layer : graph.layers) layers.push_back(layer_record(layer));
  Detail::List edges;
  for (const LayerEdge& edge : graph.edges) edges.push_back(edge_list(graph, edge));
  return {{"microbatch_size", graph.microbatch_size},
          {"input", format_bytes(graph.input)},
          {"layers", std::move(layers)},
          {"edges", std::move(edges)}};
}

Detail::Record recipe_record(const Recipe& recipe) {
  Detail::Record record = {{"architecture", recipe.architecture}};
  if (recipe.image) record.emplace_back("image", *recipe.image);
  record.emplace_back("granularity", recipe.granularity);
  return record;
}

}  // namespace

Detail::Record model_record(const Model& model) {
  STAGECRAFT_CHECK(!model.profiles.empty(), "a model has a profile");
  const LayerGraph& first = model.profiles.front();
  Detail::Record root = {{"schema", "stagecraft/model/1"}, {"model", first.name}, {"device", first.device_kind}};
  if (!first.source.empty()) root.emplace_back("source", first.source);
  if (model.recipe) root.emplace_back("computed", recipe_record(*model.recipe));
  if (model.profiles.size() == 1) {
    Detail::Record profile = profile_record(first);
    root.insert(root.end(), profile.begin(), profile.end());
  } else {
    Detail::List profiles;
    for (const LayerGraph& graph : model.profiles) {
      Detail::Record profile = profile_record(graph);
      if (graph.device_kind != first.device_kind) profile.insert(profile.begin(), {"device", graph.device_kind});
      profiles.emplace_back(std::move(profile));
    }
    root.emplace_back("profiles", std::move(profiles));
  }
  return root;
}

std::string write_model(const Model& model) { return to_yaml(model_record(model)); }

}  // namespace stagecraft
