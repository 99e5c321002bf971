#include "sim/io/model_tensors.hpp"

#include "sim/io/model_file.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {
namespace {

/// The layers that each layer feeds, and those that no layer feeds.
struct Readers {
  IndexVector<LayerId, std::vector<LayerId>> of_layer;
  std::vector<LayerId> of_input;

  [[nodiscard]] const std::vector<LayerId>& of(LayerId from) const {
    return from.is_none() ? of_input : of_layer[from];
  }
};

Readers readers_in(const LayerGraph& graph) {
  Readers readers;
  readers.of_layer.resize(graph.layers.size());
  IndexVector<LayerId, char> is_fed(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) {
    readers.of_layer[edge.from].push_back(edge.to);
    is_fed[edge.to] = 1;
  }
  for (const LayerId id : indices(graph.layers)) {
    if (is_fed[id] == 0) readers.of_input.push_back(id);
  }
  return readers;
}

/// Refuses a layer that the tensor's producer does not feed.
void check_readers(const YamlNode& node, const LayerGraph& graph, LayerId from, const std::vector<LayerId>& readers,
                   const std::vector<LayerId>& fed) {
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (std::ranges::find(fed, readers[i]) != fed.end()) continue;
    node.items()[i].fail("there is no edge from " + quote(graph.layers[from].name) + " to " +
                         quote(graph.layers[readers[i]].name));
  }
}

void read_tensor(const YamlNode& node, const LayersByName& by_name, const Readers& fed, LayerGraph& graph) {
  node.allow_keys({"from", "to", "bytes", "kept_by"});
  SharedTensor tensor{LayerId::none(), graph.input};
  if (const auto from = node.find("from")) {
    tensor.from = find_layer(*from, by_name, graph);
    tensor.bytes = graph.layers[tensor.from].output;
  }
  if (const auto bytes = node.find("bytes")) tensor.bytes = read_bytes(*bytes);
  std::vector<LayerId> readers = fed.of(tensor.from);
  if (const auto to = node.find("to")) {
    readers = read_layer_list(*to, by_name, graph);
    if (!tensor.from.is_none()) check_readers(*to, graph, tensor.from, readers, fed.of(tensor.from));
  }
  const YamlNode kept_by = node.at("kept_by");
  const std::vector<LayerId> keepers = read_layer_list(kept_by, by_name, graph);
  for (std::size_t i = 0; i < keepers.size(); ++i) {
    if (keepers[i] == tensor.from || std::ranges::find(readers, keepers[i]) != readers.end()) continue;
    kept_by.items()[i].fail("the layer " + quote(graph.layers[keepers[i]].name) +
                            " neither makes nor reads the tensor");
  }
  const auto number = static_cast<std::uint32_t>(graph.tensors.size());
  for (const LayerId id : readers) graph.layers[id].reads.push_back(number);
  for (const LayerId id : keepers) graph.layers[id].keeps.push_back(number);
  graph.tensors.push_back(tensor);
}

}  // namespace

LayerId find_layer(const YamlNode& node, const LayersByName& by_name, const LayerGraph& graph) {
  const std::string name = read_name(node);
  const auto found = by_name.find(name);
  if (found != by_name.end()) return found->second;
  std::vector<std::string> known;
  for (const Layer& layer : graph.layers) known.push_back(layer.name);
  node.fail("unknown layer " + quote(name), suggest_name(name, known));
}

std::vector<LayerId> read_layer_list(const YamlNode& node, const LayersByName& by_name, const LayerGraph& graph) {
  std::vector<LayerId> layers;
  for (const YamlNode& item : node.items()) {
    const LayerId id = find_layer(item, by_name, graph);
    if (std::ranges::find(layers, id) != layers.end()) item.fail("the layer " + quote(item.text()) + " is named twice");
    layers.push_back(id);
  }
  return layers;
}

void read_tensors(const YamlNode& node, const LayersByName& by_name, LayerGraph& graph) {
  const Readers fed = readers_in(graph);
  for (const YamlNode& item : node.items()) read_tensor(item, by_name, fed, graph);
  check_graph(graph, node);  // before sums of sizes
  for (const Layer& layer : graph.layers) {
    Bytes kept;
    for (const std::uint32_t tensor : layer.keeps) kept += graph.tensors[tensor].bytes;
    if (kept <= layer.stash) continue;
    node.fail("the layer " + quote(layer.name) + " keeps tensors of " + format_bytes(kept) + ", more than its stash, " +
              format_bytes(layer.stash));
  }
}

}  // namespace stagecraft
