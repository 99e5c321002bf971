#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"

#include <string>
#include <variant>
#include <vector>

namespace stagecraft {

/// Layers that go from a stage to a neighbour.
struct LayerMove {
  StageId from;
  StageId to;
  std::vector<LayerId> layers;  ///< in the order of the stage that they leave
  friend bool operator==(const LayerMove&, const LayerMove&) = default;
};

/// By stage, from the first boundary to the last; none where only what is done with the stash differs.
using LayerMoves = std::vector<LayerMove>;

/// The moves that lead from one plan to the next while training goes on, or the reason why there are none: a sentence
/// without its full stop. Both plans have the same stages but for their layers and what is done with the stash. Each
/// layer that moves goes to a neighbour, between stages of one replica each. Its stash is kept or recomputed; a segment
/// that is recomputed moves whole.
/// **Cost** O(layers · layers that move).
[[nodiscard]] std::variant<LayerMoves, std::string> layer_moves(const LayerGraph& graph, const Plan& before,
                                                                const Plan& after);

/// The plan after one move. Each layer keeps what is done with its stash.
/// **Requires** a move of `layer_moves`, whose earlier moves have been made.
[[nodiscard]] Plan after_move(const LayerGraph& graph, const Plan& plan, const LayerMove& move);

}  // namespace stagecraft
