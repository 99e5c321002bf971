#pragma once

#include "planners/director/node_costs.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft::director {

/// Which stages with several replicas a search may make.
enum class Sharing : std::uint8_t { Whole, Divided, Either };

/// A stage whose devices are not chosen yet.
struct NodeStage {
  enum class Place : std::uint8_t {
    Joins,   ///< in the node of the stage before it
    Begins,  ///< in one node, which need not be that of the stage before it
    Spread,  ///< over nodes
  };
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t replicas = 1;
  bool divides = false;
  Place place = Place::Begins;
};

/// The stages with the least iteration time up to `most`, within 0.4 %, by a dynamic program that knows which of them
/// lie in one node; empty if there are none.
///
/// Idea: a *segment* is a run of stages inside one node. A stage joins the segment before it, begins a new one, so that
/// the cut before it crosses the cards of nodes, or is spread over nodes, so that its all-reduce does. A state is the
/// layers and the devices used so far and the devices of the current segment (0: the last stage is spread); its value
/// is the least time g that a microbatch takes through the stages so far and back, with its transfers. For an iteration
/// time T a stage is allowed if g, its own work of an iteration and its flush come to at most T, and if what crosses a
/// card before it does, too. The least T for which a state with all layers is reached is found by bisection.
/// Invariant: a state's value is the least over all paths to it that T allows.
///
/// **Cost** O(cuts² · devices² · devices of a node) for each T at worst; few states are reached where T is small.
/// Of many layers so many cuts are tried that this is some 10⁸, or as many as there are devices.
[[nodiscard]] std::vector<NodeStage> best_node_stages(const NodeCosts& costs, const Prices& prices, Sharing sharing,
                                                      Seconds most);

}  // namespace stagecraft::director
