#include "sim/io/network_units.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"

#include <string>

namespace stagecraft {
namespace {

std::string unit_name(const Layer& layer) { return layer.name.substr(0, layer.name.find('.')); }

[[noreturn]] void refuse_network(const LayerGraph& graph, const std::string& message) {
  throw InputError("the model " + quote(graph.name) + " is not known as an embedding, blocks and a head: " + message,
                   {}, "an architecture file, a config.json or a network known by name of a decoder, GPT or BERT is");
}

/// The layers of the unit to which the next layer belongs; none if no such layer may follow here.
std::vector<LayerId>* unit_of(const std::string& name, NetworkUnits& units) {
  if (name == "embedding" && units.blocks.empty()) return &units.embedding;
  if (units.embedding.empty()) return nullptr;
  if ((name == "head" || name == "pooler") && !units.blocks.empty()) return &units.head;
  if (!units.head.empty()) return nullptr;
  const std::string next = "block" + std::to_string(units.blocks.size());
  if (name == next) units.blocks.emplace_back();
  const std::string current = "block" + std::to_string(units.blocks.size() - 1);
  return !units.blocks.empty() && name == current ? &units.blocks.back() : nullptr;
}

}  // namespace

NetworkUnits network_units(const LayerGraph& graph) {
  NetworkUnits units;
  for (const LayerId id : canonical_order(graph)) {
    const Layer& layer = graph.layers[id];
    std::vector<LayerId>* unit = unit_of(unit_name(layer), units);
    if (unit == nullptr) refuse_network(graph, "the layer " + quote(layer.name) + " has another name or place");
    unit->push_back(id);
  }
  if (units.head.empty()) refuse_network(graph, "nothing follows the last block");
  return units;
}

}  // namespace stagecraft
