#include "sim/io/import_dnn_partitioning.hpp"

#include "sim/io/json_graph.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

struct DnnNode {
  bool is_backward = false;
  Seconds time;
  Bytes size;
  std::optional<std::int64_t> color;
  bool is_fed = false;
  std::optional<Bytes> sent;  ///< the largest of its edges; none if it has no edge

  /// Whether it is a tensor that is there from the start.
  [[nodiscard]] bool is_stored() const { return !is_backward && !is_fed && time == Seconds(0) && size > Bytes(0); }
};

/// `true`, `false`, 1 or 0.
bool read_flag(const YamlNode& node) {
  const std::string& text = node.text();
  if (node.is_quoted() || (text != "true" && text != "false" && text != "1" && text != "0")) {
    node.fail_expected("true or false, or 1 or 0");
  }
  return text == "true" || text == "1";
}

DnnNode read_dnn_node(const YamlNode& node, const std::string& unit) {
  const YamlNode supported = node.at("supportedOnFpga");
  if (!read_flag(supported)) {
    supported.fail("expected a node that accelerators have, found " + supported.text(),
                   "layers of a model run on any device");
  }
  DnnNode read;
  read.is_backward = read_flag(node.at("isBackwardNode"));
  read.time = read_time_in(node.at("fpgaLatency"), unit);
  read.size = read_bytes_up(node.at("size"));
  if (const auto color = node.find("colorClass")) read.color = read_count(*color);
  return read;
}

/// Sets of nodes that belong to one layer.
class NodeSets {
 public:
  explicit NodeSets(std::size_t nodes) : parent_(nodes) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }

  [[nodiscard]] std::size_t of(std::size_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }
  void unite(std::size_t with, std::size_t node) { parent_[of(node)] = of(with); }

 private:
  std::vector<std::size_t> parent_;
};

/// The file, and which of its nodes make a layer.
struct DnnGraph {
  JsonGraph file;
  std::vector<DnnNode> nodes;
  std::vector<Bytes> sizes;  ///< of edges
  NodeSets sets;
};

DnnGraph read_dnn_graph(const YamlNode& root, const std::string& unit) {
  DnnGraph graph{read_json_graph(root), {}, {}, NodeSets(0)};
  for (const YamlNode& node : graph.file.nodes) graph.nodes.push_back(read_dnn_node(node, unit));
  for (const JsonEdge& edge : graph.file.edges) {
    const Bytes size = read_bytes_up(edge.value.at("size"));
    graph.sizes.push_back(size);
    graph.nodes[edge.to].is_fed = true;
    std::optional<Bytes>& sent = graph.nodes[edge.from].sent;
    sent = std::max(sent.value_or(Bytes(0)), size);
  }
  graph.sets = NodeSets(graph.nodes.size());
  std::map<std::int64_t, std::size_t> first;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].color) continue;
    const auto [found, is_new] = first.emplace(*graph.nodes[i].color, i);
    if (!is_new) graph.sets.unite(found->second, i);
  }
  return graph;
}

std::set<std::size_t> sets_with_forwards(const DnnGraph& graph) {
  std::set<std::size_t> sets;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].is_backward) sets.insert(graph.sets.of(i));
  }
  return sets;
}

/// Unites a set of backward nodes with one that has forward nodes across an edge. Whether there was such an edge.
bool unite_across(DnnGraph& graph, const std::set<std::size_t>& layers, std::size_t JsonEdge::* lone,
                  std::size_t JsonEdge::* with) {
  for (const JsonEdge& edge : graph.file.edges) {
    if (layers.contains(graph.sets.of(edge.*lone)) || !layers.contains(graph.sets.of(edge.*with))) continue;
    graph.sets.unite(edge.*with, edge.*lone);
    return true;
  }
  return false;
}

/// Gives each backward node a layer. The roots of layers remain what they are.
void place_backwards(DnnGraph& graph) {
  const std::set<std::size_t> layers = sets_with_forwards(graph);
  while (unite_across(graph, layers, &JsonEdge::from, &JsonEdge::to) ||
         unite_across(graph, layers, &JsonEdge::to, &JsonEdge::from)) {
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (layers.contains(graph.sets.of(i))) continue;
    graph.file.nodes[i].fail(
        "expected a forward node with the colorClass of this backward node, or an edge to another one");
  }
}

/// The part of a node's size that is parameters.
Bytes parameters_of(const DnnNode& node, bool has_stored) {
  if (has_stored) return node.is_stored() ? node.size : Bytes(0);
  return node.sent ? node.size - std::min(node.size, *node.sent) : Bytes(0);
}

/// The layers, by the root of their set, in the order of their first forward nodes.
class DnnLayers {
 public:
  explicit DnnLayers(const DnnGraph& graph) : graph_(graph) {
    const bool has_stored = std::ranges::any_of(graph.nodes, &DnnNode::is_stored);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!graph.nodes[i].is_backward) add_forward(i, has_stored);
    }
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].is_backward) layers_[id_of(i)].backward += graph.nodes[i].time;
    }
    for (Layer& layer : layers_) layer.backward_weight = layer.backward / 2.0;
    add_edges();
  }

  void move_to(LayerGraph& target, DnnPartitioningProfile& profile) {
    target.layers = std::move(layers_);
    target.edges = std::move(edges_);
    profile.without_parts = without_parts_;
  }

 private:
  [[nodiscard]] LayerId id_of(std::size_t node) const { return ids_.at(graph_.sets.of(node)); }

  void add_forward(std::size_t i, bool has_stored) {
    const DnnNode& node = graph_.nodes[i];
    const auto [found, is_new] = ids_.emplace(graph_.sets.of(i), LayerId(layers_.size()));
    if (is_new) {
      layers_.push_back(Layer{});
      longest_.push_back(Seconds(-1));
    }
    Layer& layer = layers_[found->second];
    if (node.time > longest_[found->second]) {
      longest_[found->second] = node.time;
      layer.name = graph_.file.names[i];
    }
    const Bytes parameters = parameters_of(node, has_stored);
    layer.forward += node.time;
    layer.parameters += parameters;
    layer.stash += node.size - parameters;
    layer.checkpoint = Bytes(-1);
    if (!has_stored && !node.sent && node.size > Bytes(0)) ++without_parts_;
  }

  /// Each node that feeds another layer sends its tensor there once.
  void add_edges() {
    std::map<std::pair<LayerId, LayerId>, std::size_t> position;
    std::set<std::pair<std::size_t, LayerId>> sent;
    std::set<std::size_t> makes_output;
    for (std::size_t e = 0; e < graph_.file.edges.size(); ++e) {
      const JsonEdge& edge = graph_.file.edges[e];
      if (graph_.nodes[edge.from].is_backward || graph_.nodes[edge.to].is_backward) continue;
      const LayerId from = id_of(edge.from);
      const LayerId to = id_of(edge.to);
      if (from == to || !sent.emplace(edge.from, to).second) continue;
      const auto [found, is_new] = position.emplace(std::pair{from, to}, edges_.size());
      if (is_new) edges_.push_back({from, to, Bytes(0)});
      edges_[found->second].bytes += graph_.sizes[e];
      if (makes_output.insert(edge.from).second) layers_[from].output += *graph_.nodes[edge.from].sent;
    }
  }

  const DnnGraph& graph_;
  std::map<std::size_t, LayerId> ids_;
  IndexVector<LayerId, Layer> layers_;
  IndexVector<LayerId, Seconds> longest_;  ///< of its forward nodes
  std::vector<LayerEdge> edges_;
  std::int64_t without_parts_ = 0;
};

}  // namespace

DnnPartitioningProfile import_dnn_partitioning(std::string_view text, const std::string& file_name,
                                               std::int64_t microbatch_size, const std::string& device_kind,
                                               const std::string& unit) {
  DnnGraph read = read_dnn_graph(parse_yaml(text, file_name), unit);
  place_backwards(read);
  DnnPartitioningProfile profile;
  profile.has_backwards = std::ranges::any_of(read.nodes, &DnnNode::is_backward);
  LayerGraph graph;
  graph.source = "imported from the profile " + file_stem(file_name) + " for dnn-partitioning";
  DnnLayers(read).move_to(graph, profile);
  profile.model = measured_model(std::move(graph), file_name, microbatch_size, device_kind);
  return profile;
}

}  // namespace stagecraft
