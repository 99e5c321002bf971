#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// Sums over the layers before each position of the canonical order, in seconds.
struct LayerSums {
  std::vector<double> forward;
  std::vector<double> backward;
  [[nodiscard]] double forwards(std::size_t begin, std::size_t end) const { return forward[end] - forward[begin]; }
  [[nodiscard]] double backwards(std::size_t begin, std::size_t end) const { return backward[end] - backward[begin]; }
};

/// What layers take at least, each on the device of the platform that is the fastest for it, and what passes do. The
/// replicas of a stage that divides its microbatches have equal shares, in whole samples.
class LeastTimes {
 public:
  /// **Throws** InputError for a device of unknown speed.
  /// **Cost** O(kinds of devices · layers) for each different size of a share.
  LeastTimes(const LayerGraph& graph, const Platform& platform, const std::vector<LayerId>& order,
             std::size_t most_replicas);

  /// For a whole microbatch.
  [[nodiscard]] const LayerSums& whole() const { return whole_; }
  /// For the largest share of so many replicas, at least two.
  [[nodiscard]] const LayerSums& largest_share(std::size_t replicas) const { return largest_[replicas - 2]; }
  /// For that of any of them: layer by layer the least.
  [[nodiscard]] const LayerSums& any_share(std::size_t replicas) const { return any_[replicas - 2]; }
  /// By position, whatever the stage.
  [[nodiscard]] const LayerSums& anywhere() const { return anywhere_; }
  /// How many replicas may divide a microbatch at most.
  [[nodiscard]] std::size_t most_replicas() const { return largest_.size() + 1; }

  /// What each forward and each backward takes beside its layers.
  [[nodiscard]] double overhead() const { return overhead_; }
  /// What no plan runs a microbatch in less than, if all devices work for it all the time: the time of all its layers
  /// on all devices, divided by the speeds of the devices.
  [[nodiscard]] double work() const { return work_; }

 private:
  LayerSums whole_;
  std::vector<LayerSums> largest_;  ///< by replicas - 2
  std::vector<LayerSums> any_;      ///< likewise
  LayerSums anywhere_;
  double overhead_ = 0.0;
  double work_ = 0.0;
};

}  // namespace stagecraft
