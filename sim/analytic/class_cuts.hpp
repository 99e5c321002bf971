#pragma once

#include "sim/analytic/class_stages.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// The latency of a microbatch, in seconds.
struct ChainLatency {
  double both = 0.0;     ///< its forwards, and its backwards on the way back
  double forward = 0.0;  ///< its forwards
};

/// What certainly passes from node to node between two stages, and what that takes, in seconds.
class ClassCuts {
 public:
  /// `stages` must outlive it. Without `shares_links` tensors of different senders and receivers do not meet.
  ClassCuts(const LayerGraph& graph, const ClassStages& stages, bool shares_links);

  /// Whether the stage [begin, end) certainly waits for the one before it, wherever that begins: one of its layers
  /// reads what that one's last layer makes. Other tensors may come from earlier stages, and back to their node.
  [[nodiscard]] bool waits(std::size_t begin, std::size_t end) const { return readers_[begin] < end; }
  /// What passes at least before the stage's first microbatch and after its last one: the longest chain of layers that
  /// it reads, each for the least share.
  [[nodiscard]] const ChainLatency& chain(std::size_t begin, std::size_t end) const {
    return chains_[begin][end - begin - 1];
  }

  /// One tensor over the cut before that layer from a node to another, for any receiver's part of it, which comes in as
  /// many flows as there are senders at most, all at the same time. **Requires** a stage that waits.
  [[nodiscard]] double transfer(std::size_t layer, const StageForm& from, const StageForm& to) const;
  /// Likewise all tensors of the iteration in one direction, of a stage in one node and a stage in another one.
  /// Each has that many replicas at most.
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
  std::vector<std::size_t> readers_;               ///< by begin: the first reader of the layer before; none: the end
  std::vector<double> bytes_;                      ///< by begin: what that one reads
  std::vector<std::vector<ChainLatency>> chains_;  ///< by begin and end
};

}  // namespace stagecraft
