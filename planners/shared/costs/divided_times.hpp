#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// What layers take when a microbatch is divided among replicas, in seconds on the profile's device: the time of the
/// largest share, in whole samples. With own times of the profile it is the time at that size, else it is in proportion
/// to the samples. Layers are positions in the canonical order, and all figures are sums over the layers before each.
class DividedTimes {
 public:
  struct Sums {
    std::vector<double> forward;
    std::vector<double> backward;
    std::vector<double> total;
  };

  DividedTimes() = default;
  /// Every replica of r takes 1 / r of the time.
  DividedTimes(Sums whole, std::size_t most_replicas);
  /// **Cost** O(layers) for each different size of a share, of which there are at most twice the root of the samples.
  DividedTimes(const LayerGraph& graph, std::size_t most_replicas);

  [[nodiscard]] bool is_empty() const { return parts_.empty(); }
  /// The sums for so many replicas, to be divided by `divisor`. **Requires** at most `most_replicas`.
  [[nodiscard]] const Sums& of(std::size_t replicas) const { return sums_[parts_[replicas - 1].sums]; }
  [[nodiscard]] double divisor(std::size_t replicas) const { return parts_[replicas - 1].divisor; }
  /// Replicas with the same number have the same sums.
  [[nodiscard]] std::size_t sums_index(std::size_t replicas) const { return parts_[replicas - 1].sums; }
  [[nodiscard]] const std::vector<Sums>& all_sums() const { return sums_; }
  /// The least time of all devices together for a whole microbatch, over all numbers of replicas.
  [[nodiscard]] const std::vector<double>& least_work() const { return least_work_; }

 private:
  struct Part {
    std::size_t sums = 0;
    double divisor = 1.0;
  };

  std::vector<Sums> sums_;
  std::vector<Part> parts_;  ///< by replicas - 1
  std::vector<double> least_work_;
};

}  // namespace stagecraft
