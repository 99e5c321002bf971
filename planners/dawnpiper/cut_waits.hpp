#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// For each position of the order, and its end, the bytes that stages on either side of a cut there wait for, one way,
/// if the order is cut into so many stages. A tensor goes from the layer that makes it to the next one behind the cut
/// that uses it. If that is more than a stage away, it crosses several cuts on its way but is sent once, beside what
/// the stages in between do. So it counts at each cut with one part in as many as there are stages of equal
/// computation between the two layers.
/// **Requires** an order of all layers. **Cost** O(layers + edges log edges).
[[nodiscard]] std::vector<Bytes> waited_bytes(const LayerGraph& graph, const std::vector<LayerId>& order,
                                              std::size_t stages);

}  // namespace stagecraft
