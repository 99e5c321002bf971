#pragma once

#include "planners/spp/partition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::spp {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The loads of stages and channels of a problem in seconds, from tables over ranges of devices.
/// **Cost** O(layers + devices³) to make.
class PartitionCosts {
 public:
  explicit PartitionCosts(const PartitionProblem& problem);

  [[nodiscard]] std::size_t layers() const { return problem_->layers(); }
  [[nodiscard]] std::size_t devices() const { return devices_; }
  /// Of a stage, at most the devices.
  [[nodiscard]] std::size_t most_replicas() const {
    return static_cast<std::size_t>(std::clamp(problem_->most_replicas, std::int64_t{1}, std::int64_t(devices_)));
  }

  /// What replicas of a stage with the layers [begin, end) send to the next in the ring.
  [[nodiscard]] double ring_bytes(std::size_t begin, std::size_t end, std::size_t replicas) const;
  /// A stage with the layers [begin, end) on the devices [first, last). Falls as `begin` grows.
  [[nodiscard]] double stage(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) const {
    return stage(begin, end, first, last, ring_bytes(begin, end, last - first));
  }
  /// The same with its `ring_bytes` at hand.
  [[nodiscard]] double stage(std::size_t begin, std::size_t end, std::size_t first, std::size_t last,
                             double ring_bytes) const {
    const Range& range = ranges_[first * (devices_ + 1) + last];
    const double each = (compute_[end] - compute_[begin]) * range.factor / static_cast<double>(last - first);
    const double updated = updated_[end] - updated_[begin];
    return each * microbatches_ + (ring_bytes / range.bandwidth + updated / range.update_bandwidth);
  }
  /// The channel between a stage on [middle - before, middle) and one on [middle, middle + behind).
  [[nodiscard]] double channel(std::size_t cut, std::size_t middle, std::size_t before, std::size_t behind) const {
    return crossing_[cut] / crossings_[middle][(before - 1) * (devices_ - middle) + behind - 1] * ways_;
  }

 private:
  /// Of the devices [first, last).
  struct Range {
    double factor = 0.0;           // the slowest
    double bandwidth = kInfinity;  // of any pair
    double update_bandwidth = kInfinity;
  };
  void fill_ranges();
  void fill_crossings();

  const PartitionProblem* problem_;
  std::size_t devices_;
  double microbatches_;
  double ways_;  // microbatches that a channel carries one after the other, both ways
  std::vector<double> compute_;
  std::vector<double> updated_;
  std::vector<double> crossing_;
  std::vector<Range> ranges_;                   // [first * (devices + 1) + last]
  std::vector<std::vector<double>> crossings_;  // [middle][(before - 1) * (devices - middle) + behind - 1]: bytes/s
};

}  // namespace stagecraft::spp
