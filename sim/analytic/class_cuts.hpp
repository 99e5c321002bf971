#pragma once

#include "sim/analytic/class_stages.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// What is certain of the cut before a layer, wherever a plan has others. Times in seconds.
///
/// A stage waits for the one before it where its first layer reads what that one's last layer makes. Elsewhere it may
/// begin before, and a tensor that skips stages may come back to its node.
struct CertainCut {
  bool waits = false;
  double bytes = 0.0;    ///< of the tensor that crosses it from stage to stage
  double forward = 0.0;  ///< longest chain of forwards that the layer waits for, each for the least share
  double both = 0.0;     ///< and of their backwards after its own
};

/// What certainly passes from node to node between two stages, and what that takes, in seconds.
class ClassCuts {
 public:
  /// `stages` must outlive it. Without `shares_links` tensors of different senders and receivers do not meet.
  ClassCuts(const LayerGraph& graph, const ClassStages& stages, bool shares_links);

  /// Before the layer at that position.
  [[nodiscard]] const CertainCut& before(std::size_t layer) const { return cuts_[layer]; }

  /// One tensor from a node to another, for any receiver's part of it: each gets it in as many flows as there are
  /// senders at most, all at the same time.
  [[nodiscard]] double transfer(std::size_t layer, const StageForm& from, const StageForm& to) const;
  /// All tensors of the iteration in one direction, of a stage whose replicas are in one node and one whose are in
  /// another, if they have that many at most.
  [[nodiscard]] double transfers(std::size_t layer, const StageForm& from, const StageForm& to) const;
  /// Those of a stage in one node and one on several nodes, of whose replicas it has `inside` in its own at most.
  [[nodiscard]] double transfers_of_spread(std::size_t layer, const StageForm& spread, std::size_t inside) const;

 private:
  /// The part of a tensor that a replica has at least.
  [[nodiscard]] double least_part(const StageForm& form) const;
  /// All tensors over the cards of one node.
  [[nodiscard]] double over_cards(std::size_t layer) const;

  const ClassStages& stages_;
  bool shares_links_;
  std::vector<CertainCut> cuts_;
};

}  // namespace stagecraft
