#include "sim/io/import_pipedream_plan.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/index.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace stagecraft {
namespace {

std::vector<std::string> layer_names(const LayerGraph& graph) {
  std::vector<std::string> names;
  for (const Layer& layer : graph.layers) names.push_back(layer.name);
  return names;
}

/// The node of each layer, by name. Nodes that are no layers of the model must be of those that no import keeps.
IndexVector<LayerId, const PipedreamNode*> nodes_of_layers(const PipedreamGraph& file, const LayerGraph& graph) {
  std::unordered_map<std::string, LayerId> by_name;
  for (const LayerId id : indices<LayerId>(graph.layers.size())) by_name.emplace(graph.layers[id].name, id);
  IndexVector<LayerId, const PipedreamNode*> nodes(graph.layers.size(), nullptr);
  for (const PipedreamNode& node : file.nodes) {
    const auto found = by_name.find(node.layer.name);
    if (found != by_name.end()) {
      nodes[found->second] = &node;
    } else if (!node.dropped) {
      throw InputError("the node " + quote(node.layer.name) + " is no layer of the model " + quote(graph.name),
                       node.place, suggest_name(node.layer.name, layer_names(graph)));
    }
  }
  for (const LayerId id : indices<LayerId>(graph.layers.size())) {
    if (nodes[id] != nullptr) continue;
    throw InputError("expected a node for each layer of the model " + quote(graph.name) + ", found none for " +
                         quote(graph.layers[id].name),
                     {file.file_name, 0, 0, ""}, "a layer and its node have the same name");
  }
  return nodes;
}

/// Refuses numbers of stages with gaps. **Shape** `stages` by layer, all from 0.
std::int64_t require_contiguous(const IndexVector<LayerId, const PipedreamNode*>& nodes) {
  const auto stage_of = [](const PipedreamNode* node) { return *node->stage; };
  const PipedreamNode* last = *std::ranges::max_element(nodes, {}, stage_of);
  const std::int64_t count = *last->stage + 1;
  std::vector<char> has_nodes(static_cast<std::size_t>(count));
  for (const PipedreamNode* node : nodes) has_nodes[static_cast<std::size_t>(*node->stage)] = 1;
  const auto gap = std::ranges::find(has_nodes, 0);
  if (gap == has_nodes.end()) return count;
  throw InputError("expected stages numbered from 0 without gaps, found stage " + std::to_string(count - 1) +
                       " and no layer of stage " + std::to_string(gap - has_nodes.begin()),
                   last->stage_place);
}

/// How many stages the graph has. Each node of a layer must have one.
std::int64_t require_stage_ids(const PipedreamGraph& file, const IndexVector<LayerId, const PipedreamNode*>& nodes) {
  for (const PipedreamNode* node : nodes) {
    if (node->stage) continue;
    if (has_stages(file)) {
      throw InputError("the node " + quote(node->layer.name) + " has no stage_id, but others have one", node->place,
                       "end its line with ' -- stage_id=N'");
    }
    throw InputError("expected nodes with a stage_id, found none", {file.file_name, 0, 0, ""},
                     "the optimizer of PipeDream writes it; a profile without a plan is read by import pipedream");
  }
  return require_contiguous(nodes);
}

/// The configuration's stage of each stage of the graph.
std::vector<std::size_t> stages_of_modules(const PipedreamConf& conf, std::int64_t graph_stages) {
  const auto count = static_cast<std::size_t>(graph_stages);
  std::vector<std::size_t> stages;
  const bool is_module = conf.modules.size() == count + 1;
  if (!is_module && conf.ranks.size() != count) {
    throw InputError("the graph has " + counted(count, "stage") + "; expected " + counted(count + 1, "module") +
                         ", one for each and the loss, or modules on " + counted(count, "stage") + ", found " +
                         counted(conf.modules.size(), "module") + " on " + counted(conf.ranks.size(), "stage"),
                     conf.modules_place);
  }
  for (std::size_t s = 0; s < count; ++s) {
    stages.push_back(is_module ? static_cast<std::size_t>(conf.modules[s].value) : s);
  }
  return stages;
}

/// The stage of each layer in the plan.
IndexVector<LayerId, std::size_t> stages_of_layers(const PipedreamGraph& file, const std::optional<PipedreamConf>& conf,
                                                   const LayerGraph& graph) {
  const IndexVector<LayerId, const PipedreamNode*> nodes = nodes_of_layers(file, graph);
  const std::int64_t count = require_stage_ids(file, nodes);
  std::vector<std::size_t> stages;
  if (conf) stages = stages_of_modules(*conf, count);
  IndexVector<LayerId, std::size_t> result;
  for (const PipedreamNode* node : nodes) {
    const auto stage = static_cast<std::size_t>(*node->stage);
    result.push_back(conf ? stages[stage] : stage);
  }
  return result;
}

/// The edges of the file and of the model, which may have others.
void refuse_edges_back(const PipedreamGraph& file, const LayerGraph& graph,
                       const IndexVector<LayerId, std::size_t>& stages, const std::string& hint) {
  const auto check = [&](LayerId from, LayerId to, const InputPlace& place) {
    if (stages[from] <= stages[to]) return;
    throw InputError("expected edges to the same or a later stage, found " + quote(graph.layers[from].name) +
                         " of stage " + std::to_string(stages[from]) + ", which feeds " + quote(graph.layers[to].name) +
                         " of stage " + std::to_string(stages[to]),
                     place, hint);
  };
  std::unordered_map<std::string, LayerId> by_name;
  for (const LayerId id : indices<LayerId>(graph.layers.size())) by_name.emplace(graph.layers[id].name, id);
  for (const PipedreamEdge& edge : file.edges) {
    const auto from = by_name.find(file.nodes[edge.from].layer.name);
    const auto to = by_name.find(file.nodes[edge.to].layer.name);
    if (from != by_name.end() && to != by_name.end()) check(from->second, to->second, edge.place);
  }
  for (const LayerEdge& edge : graph.edges) check(edge.from, edge.to, {file.file_name, 0, 0, ""});
}

std::string devices_of_platform(const Platform& platform) {
  return "the platform " + quote(platform.spec.name) + " has " + counted(platform.devices.size(), "device");
}

std::vector<Group> devices_of_ranks(const std::vector<PlacedCount>& ranks, const Platform& platform) {
  std::vector<Group> devices;
  for (const PlacedCount& rank : ranks) {
    const auto device = static_cast<std::size_t>(rank.value);
    if (device >= platform.devices.size()) {
      throw InputError("expected the number of a device, found the rank " + std::to_string(rank.value) + ", but " +
                           devices_of_platform(platform),
                       rank.place, "rank 0 is the first device");
    }
    devices.emplace_back(DeviceId(device));
  }
  return devices;
}

}  // namespace

std::vector<Stage> pipedream_stages(const PipedreamGraph& file, const std::optional<PipedreamConf>& conf,
                                    const LayerGraph& graph, const Platform& platform) {
  const IndexVector<LayerId, std::size_t> stage_of = stages_of_layers(file, conf, graph);
  refuse_edges_back(file, graph, stage_of, conf ? "the stages are those of module_to_stage_map" : "");
  std::vector<Stage> stages(*std::ranges::max_element(stage_of) + 1);
  if (!conf && stages.size() > platform.devices.size()) {
    throw InputError("the plan has " + counted(stages.size(), "stage") + ", but " + devices_of_platform(platform),
                     {file.file_name, 0, 0, ""}, "--ranks tells which device has which stage");
  }
  for (const LayerId layer : canonical_order(graph)) stages[stage_of[layer]].layers.push_back(layer);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    stages[s].replicas = conf ? devices_of_ranks(conf->ranks[s], platform) : std::vector<Group>{DeviceId(s)};
  }
  return stages;
}

}  // namespace stagecraft
