#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Sizes of runs of consecutive layers of an order, where some bytes belong to several layers and count once in a run
/// that has more than one of them: tensors that layers keep, tables that they have in common.
class RunSums {
 public:
  /// Bytes that several layers have in common.
  struct Common {
    std::vector<std::size_t> at;  ///< positions of the layers in the order, increasing
    Bytes bytes;                  ///< part of the size of each
  };

  RunSums() : RunSums(std::vector<Bytes>(1)) {}
  /// Of layers that have nothing in common. `before`: the sums over the layers before each position.
  RunSums(std::vector<Bytes> before);  // NOLINT(google-explicit-constructor): plain sums are such sums
  /// **Cost** O(layers + common bytes · layers of each), and an entry for each cut between two layers of one `Common`
  /// that follow each other.
  RunSums(const std::vector<Bytes>& sizes, const std::vector<Common>& common);

  /// The number of layers.
  [[nodiscard]] std::size_t size() const { return sums_.size() - 1; }

  /// The size of the layers [begin, end). **Cost** O(log pairs at the cut `end`).
  [[nodiscard]] Bytes operator()(std::size_t begin, std::size_t end) const {
    const Bytes sum = sums_[end] - sums_[begin];
    const std::size_t first = cuts_[end];
    if (first == cuts_[end + 1]) return sum;
    return sum + (pairs_[first].first >= begin ? pairs_[first].bytes : beyond(begin, end));
  }

 private:
  /// A pair of layers with common bytes that follow each other, on either side of a cut.
  struct Pair {
    std::size_t first = 0;
    Bytes bytes;  ///< of this pair and of those whose first layer comes later
  };

  [[nodiscard]] Bytes beyond(std::size_t begin, std::size_t end) const;

  std::vector<Bytes> sums_;        // of the layers before: sizes, less what a later layer has too
  std::vector<Pair> pairs_;        // by cut, then by first layer
  std::vector<std::size_t> cuts_;  // where the pairs of each cut begin; one more than cuts
};

/// What the layers of a run keep for their backwards if they are a stage: each tensor counts once.
/// **Requires** an order of all layers of the graph.
[[nodiscard]] RunSums stash_sums(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The parameters of a run's layers: tied ones count once. **Requires** an order of all layers of the graph.
[[nodiscard]] RunSums parameter_sums(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The part of these that an expert group divides.
[[nodiscard]] RunSums expert_sums(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The stash of `layers` on one stage. **Requires** different layers.
/// **Cost** O(k log k) for the k tensors that they keep.
[[nodiscard]] Bytes stash_of(const LayerGraph& graph, const std::vector<LayerId>& layers);

/// The parameters of `layers` on one device. **Requires** different layers.
/// **Cost** O(layers + layers of tied groups).
[[nodiscard]] Bytes parameters_of(const LayerGraph& graph, const std::vector<LayerId>& layers);

}  // namespace stagecraft
