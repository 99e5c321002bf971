#pragma once

#include "planners/director/draft.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/divided_times.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/run_sums.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::director {

/// What stages of a request compute and keep, whichever layers and devices they have. Layers are positions in the
/// canonical order; times are in seconds.
class StageCosts {
 public:
  /// **Throws** InputError if a device's speed is not known.
  explicit StageCosts(const PlanRequest& request);

  [[nodiscard]] std::size_t layers() const { return cut_bytes_.size() - 1; }
  [[nodiscard]] std::int64_t microbatches() const { return microbatches_; }
  /// The most devices that can divide a microbatch.
  [[nodiscard]] std::size_t most_parts() const { return most_parts_; }

  /// The forward of a microbatch, or of its largest share, on the device of the profile, without overheads.
  [[nodiscard]] double forward(std::size_t begin, std::size_t end, std::size_t replicas, bool divides) const;
  [[nodiscard]] double backward(std::size_t begin, std::size_t end, std::size_t replicas, bool divides) const;
  /// The microbatches, or parts of them, that the busiest of so many equal replicas runs.
  [[nodiscard]] double rounds(std::size_t replicas, bool divides) const;

  [[nodiscard]] Bytes parameters(std::size_t begin, std::size_t end) const { return parameters_(begin, end); }
  /// The bytes of a microbatch over the cut before a position, one way; 0 at both ends.
  [[nodiscard]] double cut_bytes(std::size_t at) const { return cut_bytes_[at]; }

  /// How many times as long as on the device of the profile a pass takes on it, and what it takes besides.
  [[nodiscard]] double factor(DeviceId device) const { return factors_[device]; }
  [[nodiscard]] double pass_overhead(DeviceId device) const { return overheads_[device]; }

  /// All devices, and then, the fastest first, those that are at least as fast as some are: three such sets at most.
  [[nodiscard]] std::vector<std::vector<DeviceId>> device_sets() const;

  /// What the busiest replica of the piece computes in an iteration; of devices that are not equally fast, at least,
  /// with shares by their speeds. **Cost** O(devices).
  [[nodiscard]] double load(const Piece& piece) const;

 private:
  DividedTimes times_;
  RunSums parameters_;
  std::vector<double> cut_bytes_;
  IndexVector<DeviceId, double> factors_;
  IndexVector<DeviceId, double> overheads_;
  std::int64_t microbatches_;
  std::size_t most_parts_;
};

}  // namespace stagecraft::director
