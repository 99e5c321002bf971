#include "sim/io/model_tied.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/yaml_values.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

TiedParameters read_group(const YamlNode& node, const LayersByName& by_name, const LayerGraph& graph) {
  node.allow_keys({"layers", "bytes"});
  const YamlNode layers = node.at("layers");
  TiedParameters tied;
  tied.layers = read_layer_list(layers, by_name, graph);
  if (tied.layers.size() < 2) {
    layers.fail("expected at least two layers that have parameters in common, found " +
                counted(tied.layers.size(), "layer"));
  }
  const YamlNode bytes = node.at("bytes");
  tied.bytes = read_bytes(bytes);
  if (tied.bytes == Bytes(0)) bytes.fail_expected("the size of the common parameters, more than 0");
  std::ranges::sort(tied.layers);
  return tied;
}

}  // namespace

void read_tied(const YamlNode& node, const LayersByName& by_name, LayerGraph& graph) {
  IndexVector<LayerId, Bytes> left;
  for (const Layer& layer : graph.layers) left.push_back(layer.parameters);
  for (const YamlNode& item : node.items()) {
    TiedParameters tied = read_group(item, by_name, graph);
    for (const LayerId id : tied.layers) {
      if (tied.bytes > left[id]) {
        item.at("bytes").fail_expected("at most what is left of the parameters of the layer " +
                                       quote(graph.layers[id].name) + ", " + format_bytes(left[id]));
      }
      left[id] -= tied.bytes;
    }
    graph.tied.push_back(std::move(tied));
  }
}

}  // namespace stagecraft
