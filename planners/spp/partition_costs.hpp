#pragma once

#include "planners/shared/costs/bucket_exchange.hpp"
#include "planners/spp/partition.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::spp {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The loads of stages and channels of a problem in seconds, computed from tables over ranges of devices.
/// **Cost** O(layers + devices³) to construct.
class PartitionCosts {
 public:
  explicit PartitionCosts(const PartitionProblem& problem);

  [[nodiscard]] std::size_t layers() const { return problem_->layers(); }
  [[nodiscard]] std::size_t devices() const { return devices_; }
  /// The largest number of replicas of a stage, at most the number of devices.
  [[nodiscard]] std::size_t most_replicas() const {
    return static_cast<std::size_t>(std::clamp(problem_->most_replicas, std::int64_t{1}, std::int64_t(devices_)));
  }

  /// The least time of all devices together for one microbatch of the layers before each position.
  [[nodiscard]] const std::vector<double>& least_work() const { return times_.least_work(); }

  /// The number of different all-reduces; the devices of a stage have one of them.
  [[nodiscard]] std::size_t exchanges() const { return replicas_.size(); }
  /// That of a stage on the devices [first, last). **Requires** at most `most_replicas`.
  [[nodiscard]] std::size_t exchange(std::size_t first, std::size_t last) const {
    return ranges_[first * (devices_ + 1) + last].exchange;
  }
  /// The seconds in which replicas exchange all gradients of the layers [begin, end) and gather their weights, if these
  /// do not run under computations. Never grows as `begin` grows.
  [[nodiscard]] double all_reduce(std::size_t exchange, std::size_t begin, std::size_t end) const {
    const Bytes all = problem_->parameters(begin, end);
    return summed(exchange, Bytes(0), all, 1) + gathered(exchange, all);
  }
  /// The load of a stage with the layers [begin, end) on the devices [first, last). Never grows as `begin` grows.
  [[nodiscard]] double stage(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) const {
    const double all_reduced = buckets_.empty() ? all_reduce(exchange(first, last), begin, end) : 0.0;
    return stage(begin, end, first, last, all_reduced);
  }
  /// The same with the stage's `all_reduce` already computed, which gradients in buckets do not need.
  [[nodiscard]] double stage(std::size_t begin, std::size_t end, std::size_t first, std::size_t last,
                             double all_reduced) const {
    const Range& range = ranges_[first * (devices_ + 1) + last];
    if (!buckets_.empty()) return bucketed(begin, end, last - first, range);
    const std::vector<double>& compute = times_.of(last - first).total;
    const double each =
        (compute[end] - compute[begin]) * range.factor / times_.divisor(last - first) + 2.0 * range.pass_overhead;
    return each * microbatches_ + (all_reduced + update(begin, end, last - first, range));
  }
  /// The load of the channel between a stage on [middle - before, middle) and one on [middle, middle + behind).
  [[nodiscard]] double channel(std::size_t cut, std::size_t middle, std::size_t before, std::size_t behind) const {
    return crossing_[cut] / crossings_[middle][(before - 1) * (devices_ - middle) + behind - 1] * ways_;
  }

 private:
  /// Extremes over the devices [first, last). An overhead is that of the device that is slowest without it: never more
  /// than a stage takes.
  struct Range {
    double factor = 0.0;  // of the slowest device
    double pass_overhead = 0.0;
    double update_bandwidth = kInfinity;
    double update_overhead = 0.0;
    std::size_t exchange = 0;
  };
  /// The load of a stage that exchanges gradients while its last backward runs. Sums what never grows with `begin`.
  [[nodiscard]] double bucketed(std::size_t begin, std::size_t end, std::size_t replicas, const Range& range) const;
  [[nodiscard]] double forwards(std::size_t begin, std::size_t end, std::size_t replicas, const Range& range) const;
  /// The bytes that the optimizer's step of a stage processes on each replica.
  [[nodiscard]] double updated(std::size_t begin, std::size_t end, std::size_t replicas) const {
    const Bytes all = problem_->parameters(begin, end);
    const Bytes own = problem_->exchange.is_divided ? share_up(all, 1, static_cast<std::int64_t>(replicas)) : all;
    return static_cast<double>((own * problem_->update_copies).value());
  }
  /// The seconds of that step.
  [[nodiscard]] double update(std::size_t begin, std::size_t end, std::size_t replicas, const Range& range) const {
    return updated(begin, end, replicas) / range.update_bandwidth + range.update_overhead;
  }
  void widen(Range& range, std::size_t device) const;
  /// The seconds in which the gradients of the bytes [before, all) of weights are summed up in so many buckets.
  [[nodiscard]] double summed(std::size_t exchange, Bytes before, Bytes all, std::size_t buckets) const;
  /// Those in which so many bytes of weights are gathered after an update.
  [[nodiscard]] double gathered(std::size_t exchange, Bytes weights) const;
  /// The seconds of all-reduces of the bytes [before, all), so many one after the other.
  [[nodiscard]] double all_reduce(std::size_t exchange, Bytes before, Bytes all, std::size_t buckets) const;
  void fill_ranges();
  void fill_exchanges();
  void fill_crossings();

  const PartitionProblem* problem_;
  std::size_t devices_;
  double microbatches_;
  double ways_;  // transfers that a channel carries one after the other: microbatches, twice if half duplex
  DividedTimes times_;
  std::vector<BucketExchange> buckets_;  // only with buckets of gradients: for each of the times' sums
  std::vector<double> crossing_;
  std::vector<Range> ranges_;  // [first * (devices + 1) + last]
  // By exchange, on the analytic network: the number of replicas, and the smallest bandwidth of all pairs.
  std::vector<std::int64_t> replicas_;
  std::vector<double> bandwidths_;
  std::vector<std::vector<double>> crossings_;  // [middle][(before - 1) * (devices - middle) + behind - 1]: bytes/s
};

}  // namespace stagecraft::spp
