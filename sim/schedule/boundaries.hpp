#pragma once

#include "sim/model/layer_graph.hpp"

#include <vector>

namespace stagecraft {

struct Plan;

/// Two stages that exchange tensors, and the bytes that flow for one microbatch: every tensor that some layer of `to`
/// needs from a layer of `from`. A tensor counts once, at the size of its largest edge. The gradient has the same size.
/// Between groups the bytes are those that each member sends to its counterpart.
struct Boundary {
  StageId from;
  StageId to;
  Bytes bytes;
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// All boundaries of a plan, ordered by producing stage, then by consuming stage.
/// **Requires** a plan that covers the graph.
[[nodiscard]] std::vector<Boundary> boundaries(const LayerGraph& graph, const Plan& plan);

/// The boundaries between consecutive stages of each pipeline. A tensor whose consumer is several stages later crosses
/// all boundaries in between. The gradient has the same size. **Requires** a plan that covers the graph.
[[nodiscard]] std::vector<Boundary> chain_boundaries(const LayerGraph& graph, const Plan& plan);

}  // namespace stagecraft
