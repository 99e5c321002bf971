#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/options.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Which layers of the canonical order form a unit: consecutive layers that a planner never separates.
enum class UnitGrain {
  /// Each layer is a unit, except that one which keeps nothing and takes less than 10 us belongs to the unit before it,
  /// or to the first unit if there is none before it.
  Operators,
  Layers,  ///< each layer is a unit
  /// A unit ends behind a layer if no tensor of the layers before it is still needed as part of a branch. A tensor with
  /// one or two users is needed up to the last of them, one with more only up to the first: residual branches, with
  /// their addition, are in one unit, while what all later blocks read (the encoder's output) does not join these.
  Blocks,
};

/// The option with one word for each grain: `operators`, `layers` and `blocks`.
[[nodiscard]] OptionInfo grain_option(std::string name, UnitGrain default_grain, std::string description);
/// **Requires** a word of that option.
[[nodiscard]] UnitGrain grain_of(const std::string& word);

/// Where the units of the order begin, and its end: unit i has the layers [bounds[i], bounds[i + 1]).
/// **Requires** an order of all layers, at least one. **Cost** O(layers + edges log edges).
[[nodiscard]] std::vector<std::size_t> unit_bounds(const LayerGraph& graph, const std::vector<LayerId>& order,
                                                   UnitGrain grain);

}  // namespace stagecraft
