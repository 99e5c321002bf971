#include "sim/base/text.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/yaml_text.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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
  if (layer.experts > Bytes(0)) record.emplace_back("experts", format_bytes(layer.experts));
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

Detail::List names_of(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Detail::List names;
  for (const LayerId id : layers) names.emplace_back(graph.layers[id].name);
  return names;
}

Detail::List tensor_list(const LayerGraph& graph) {
  struct Users {
    std::vector<LayerId> readers;
    std::vector<LayerId> keepers;
  };
  std::vector<Users> users(graph.tensors.size());
  for (const LayerId id : indices(graph.layers)) {
    for (const std::uint32_t tensor : graph.layers[id].reads) users[tensor].readers.push_back(id);
    for (const std::uint32_t tensor : graph.layers[id].keeps) users[tensor].keepers.push_back(id);
  }
  Detail::List list;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const SharedTensor& tensor = graph.tensors[i];
    Detail::Record record;
    if (!tensor.from.is_none()) record.emplace_back("from", graph.layers[tensor.from].name);
    record.emplace_back("to", names_of(graph, users[i].readers));
    record.emplace_back("bytes", format_bytes(tensor.bytes));
    record.emplace_back("kept_by", names_of(graph, users[i].keepers));
    list.emplace_back(std::move(record));
  }
  return list;
}

Detail::List tied_list(const LayerGraph& graph) {
  Detail::List list;
  for (const TiedParameters& tied : graph.tied) {
    list.emplace_back(Detail::Record{{"layers", names_of(graph, tied.layers)}, {"bytes", format_bytes(tied.bytes)}});
  }
  return list;
}

/// The part of a graph that depends on its microbatch size.
Detail::Record profile_record(const LayerGraph& graph) {
  Detail::List layers;
  for (const Layer& layer : graph.layers) layers.push_back(layer_record(layer));
  Detail::List edges;
  for (const LayerEdge& edge : graph.edges) edges.push_back(edge_list(graph, edge));
  Detail::Record record = {{"microbatch_size", graph.microbatch_size},
                           {"input", format_bytes(graph.input)},
                           {"layers", std::move(layers)},
                           {"edges", std::move(edges)}};
  if (!graph.tensors.empty()) record.emplace_back("tensors", tensor_list(graph));
  return record;
}

/// Digits where they are as short as they are exact.
Detail flops_value(Flops flops) {
  constexpr double kMostWhole = 0x1p62;
  const bool is_whole = flops.value() < kMostWhole && std::floor(flops.value()) == flops.value();
  return is_whole ? Detail(static_cast<std::int64_t>(flops.value())) : Detail(flops.value());
}

void add_work(const SampleWork& work, Detail::Record& root) {
  if (work.forward > Flops(0)) root.emplace_back("flops", flops_value(work.forward));
  if (work.masked > Flops(0)) root.emplace_back("masked_flops", flops_value(work.masked));
  if (work.tokens > 0) root.emplace_back("tokens", work.tokens);
}

Detail::Record recipe_record(const Recipe& recipe) {
  Detail::Record record = {{"architecture", recipe.architecture}};
  if (recipe.image) record.emplace_back("image", *recipe.image);
  if (recipe.sequence) record.emplace_back("sequence", *recipe.sequence);
  if (recipe.precision) record.emplace_back("precision", *recipe.precision);
  record.emplace_back("granularity", recipe.granularity);
  if (recipe.selective_recompute) record.emplace_back("selective_recompute", true);
  return record;
}

}  // namespace

Detail::Record model_record(const Model& model, bool only_recipe) {
  STAGECRAFT_CHECK(!model.profiles.empty(), "a model has a profile");
  const LayerGraph& first = model.profiles.front();
  Detail::Record root = {{"schema", "stagecraft/model/1"}, {"model", first.name}, {"device", first.device_kind}};
  if (first.precision != kPlainPrecision) root.emplace_back("precision", first.precision);
  if (first.parameter_bytes && !only_recipe) root.emplace_back("parameter_bytes", *first.parameter_bytes);
  if (!only_recipe) add_work(first.work, root);
  if (!first.source.empty()) root.emplace_back("source", first.source);
  if (!model.recipe && first.origin != Origin::Assumed) root.emplace_back("origin", to_string(first.origin));
  if (model.recipe) root.emplace_back("computed", recipe_record(*model.recipe));
  if (only_recipe) {
    root.emplace_back("microbatch_size", first.microbatch_size);
  } else if (model.profiles.size() == 1) {
    Detail::Record profile = profile_record(first);
    root.insert(root.end(), profile.begin(), profile.end());
  } else {
    Detail::List profiles;
    for (const LayerGraph& graph : model.profiles) {
      Detail::Record profile = profile_record(graph);
      if (graph.origin != first.origin) profile.insert(profile.begin(), {"origin", to_string(graph.origin)});
      if (graph.precision != first.precision) profile.insert(profile.begin(), {"precision", graph.precision});
      if (graph.device_kind != first.device_kind) profile.insert(profile.begin(), {"device", graph.device_kind});
      profiles.emplace_back(std::move(profile));
    }
    root.emplace_back("profiles", std::move(profiles));
  }
  if (!only_recipe && !first.tied.empty()) root.emplace_back("tied", tied_list(first));
  return root;
}

std::string write_model(const Model& model, bool only_recipe) { return to_yaml(model_record(model, only_recipe)); }

}  // namespace stagecraft
