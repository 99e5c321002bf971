#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// By position in an order of layers: equal numbers for layers with equal figures that use, keep and make tensors of
/// equal sizes, made and used before in equal places of layers equally far away. So two runs of layers with equal
/// numbers have equal figures, as long as neither has users of these tensors that the other one lacks.
/// **Requires** a topological order. **Cost** O(layers and their tensors, with a logarithm of the layers).
[[nodiscard]] std::vector<std::uint32_t> layer_likeness(const LayerGraph& graph, const std::vector<LayerId>& order);

}  // namespace stagecraft
