#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// The stash of `layers` on one stage: the sum of their stashes, in which each tensor counts once.
/// **Requires** different layers. **Cost** O(k log k) for the k tensors that they keep.
[[nodiscard]] Bytes stash_of(const LayerGraph& graph, const std::vector<LayerId>& layers);

/// The stashes of runs of consecutive layers of an order, each as one stage.
class StashSums {
 public:
  /// **Requires** an order of all layers of the graph.
  /// **Cost** O(layers + tensors · keepers), and an entry for each cut between two keepers of a tensor that follow each
  /// other.
  StashSums(const LayerGraph& graph, const std::vector<LayerId>& order);

  /// The stash of the layers [begin, end) of the order. **Cost** O(log tensors at the cut `end`).
  [[nodiscard]] Bytes operator()(std::size_t begin, std::size_t end) const {
    const Bytes sum = sums_[end] - sums_[begin];
    const std::size_t first = cuts_[end];
    if (first == cuts_[end + 1]) return sum;
    return sum + (pairs_[first].first >= begin ? pairs_[first].bytes : beyond(begin, end));
  }

 private:
  /// A pair of keepers of one tensor that follow each other, on either side of a cut.
  struct Pair {
    std::size_t first = 0;
    Bytes bytes;  ///< of this pair and of those whose first keeper comes later
  };

  [[nodiscard]] Bytes beyond(std::size_t begin, std::size_t end) const;

  std::vector<Bytes> sums_;        // of the layers before: stashes, less the tensors that a later layer keeps too
  std::vector<Pair> pairs_;        // by cut, then by first keeper
  std::vector<std::size_t> cuts_;  // where the pairs of each cut begin; one more than cuts
};

}  // namespace stagecraft
