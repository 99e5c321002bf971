#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"

#include <vector>

namespace stagecraft {

/// What flows between two stages for one microbatch: every tensor that some layer of `to` needs of a layer of `from`,
/// each once, at the largest of its edges. The gradient has the same size.
struct Boundary {
  StageId from;
  StageId to;
  Bytes bytes;
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// All boundaries of a plan, by producing stage, then consuming stage.
/// **Requires** a plan that covers the graph.
[[nodiscard]] std::vector<Boundary> boundaries(const LayerGraph& graph, const Plan& plan);

/// What crosses each cut between stages of a pipeline that follow each other: tensors that skip stages are passed on.
/// The gradient has the same size. **Requires** a plan that covers the graph.
[[nodiscard]] std::vector<Boundary> chain_boundaries(const LayerGraph& graph, const Plan& plan);

}  // namespace stagecraft
