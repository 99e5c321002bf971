#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stagecraft {

/// The last backward of stages of a chain whose replicas exchange gradients in buckets while it runs
/// (`gradient_buckets`). Layers are positions.
class BucketExchange {
 public:
  /// Without stages, to be assigned later.
  BucketExchange() = default;
  /// `backward`: sums over the layers before each position.
  /// **Requires** a size above 0. **Cost** O(layers · layers of a bucket).
  BucketExchange(RunSums parameters, std::vector<double> backward, Bytes size);

  /// The time from the start of the last backward of a stage with the layers [begin, end) to the end of it and of the
  /// exchange. The backward takes `share` times the profile's time; `seconds(before, all, buckets)` is the time of what
  /// is exchanged after the first `before` bytes of `all`, in so many buckets. Never grows as `begin` grows, if
  /// `seconds` does not either.
  /// **Cost** O(buckets of the stage).
  template <class Exchange>
  [[nodiscard]] double last_backward(std::size_t begin, std::size_t end, double share, const Exchange& seconds) const {
    double longest = (backward_[end] - backward_[begin]) * share;
    const Bytes all = parameters_(begin, end);
    std::size_t left = 0;
    for (std::size_t at = end; first_[begin] < at; at = last_layer(begin, at)) ++left;
    for (std::size_t at = end; first_[begin] < at; --left) {
      const std::size_t last = last_layer(begin, at);
      const double complete = (backward_[end] - backward_[last]) * share;
      longest = std::max(longest, complete + seconds(all - parameters_(begin, at), all, left));
      at = last;
    }
    return longest;
  }

 private:
  /// The layer that completes the bucket filled from a position back, in a stage that begins at `begin`.
  [[nodiscard]] std::size_t last_layer(std::size_t begin, std::size_t at) const {
    return std::max(completed_by_[at], first_[begin]);
  }

  RunSums parameters_;  ///< what several layers of a stage have in common is complete with the first of them
  std::vector<double> backward_;
  std::vector<std::size_t> completed_by_;  ///< by position: the layer that completes a bucket filled from there back
  std::vector<std::size_t> first_;  ///< by position: the first layer from there on that has parameters, else the end
};

}  // namespace stagecraft
