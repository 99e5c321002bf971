#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// How a random architecture search goes on.
struct SearchSteps {
  std::int64_t steps = 1;
  std::int64_t changes = 1;  ///< in each step
  std::uint64_t seed = 1;
};

/// The models of a random architecture search, each made from the one before. A change adds a copy of a layer behind
/// it, removes a layer, or makes a layer wider or narrower: its times, its parameters and what it keeps are multiplied
/// by 1/2, 3/4, 3/2 or 2. Layers are added and removed only where one tensor comes in and the output has its size, and
/// never more than half of the first model's layers are missing. Layers of the first model keep their names.
/// What layers keep counts as theirs alone: tensors that layers share (`LayerGraph::tensors`) are left out.
/// **Requires** an acyclic graph.
/// **Cost** O(steps · (layers + changes · edges)).
[[nodiscard]] std::vector<LayerGraph> random_search(const LayerGraph& first, const SearchSteps& search);

}  // namespace stagecraft
