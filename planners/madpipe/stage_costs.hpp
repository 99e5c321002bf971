#pragma once

#include "planners/madpipe/allocation.hpp"
#include "planners/shared/costs/chain.hpp"
#include "planners/shared/costs/crossings.hpp"
#include "sim/base/ticks.hpp"
#include "sim/model/run_sums.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace stagecraft::madpipe {

/// A stage that ends where the layers left in a state end. `prepend` makes it longer by one layer at its front.
struct StageInHand {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  Ticks load = 0;
  Ticks cut = 0;  ///< load of the cut before it; `kUnlimited` if the chain cannot be cut there
  // Bytes, maintained by `prepend`.
  std::int64_t copies = 0;    ///< weights, gradients and optimizer state
  std::int64_t sent = 0;      ///< the buffers for what it sends
  std::int64_t received = 0;  ///< the buffers for what it receives
  std::int64_t stash = 0;
  std::int64_t workspace = 0;
  // Set by `schedule`.
  std::int64_t in_flight = 0;      ///< g
  std::int64_t memory = 0;         ///< Mem(k, l, g)
  std::int64_t memory_behind = 0;  ///< without the buffers for what it receives
  std::int64_t charged = 0;        ///< Mem(k, l, g'), which the special device is charged for
  Ticks delay = 0;                 ///< V', rounded up
  bool is_delayed = false;  ///< whether V' starts a new period, and so is whole; otherwise it is V plus both loads
};

/// The figures of a chain, stored in the order in which the recurrence reads them. On a graph, where the cuts behind a
/// stage decide how many stages use a tensor of it, each tensor that the stage sends counts once: the least that any
/// cuts lead to.
class StageCosts {
 public:
  StageCosts(const Chain& chain, const AllocationSettings& settings);

  [[nodiscard]] std::uint32_t layers() const { return static_cast<std::uint32_t>(parts_.size() - 1); }
  [[nodiscard]] std::uint32_t normal_devices() const { return normal_devices_; }
  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  /// That of all layers, whatever the cuts are.
  [[nodiscard]] Ticks most_load() const { return most_load_; }
  [[nodiscard]] Ticks total_cuts() const { return total_cuts_; }
  /// A lower bound of all bottlenecks: the mean load of a device, and the load of the largest layer.
  [[nodiscard]] Ticks least_bottleneck() const { return least_bottleneck_; }
  /// An upper bound of all bottlenecks with exact states: the whole load, and the largest cut.
  [[nodiscard]] Ticks largest_bottleneck() const { return largest_bottleneck_; }

  /// The empty stage before layer `end`.
  [[nodiscard]] StageInHand before(std::uint32_t end) const;
  void prepend(StageInHand& stage) const;
  /// Computes delay, microbatches in flight and memory of the stage for the period `target`. The delay after the stage
  /// is `delay`, and `periods` is ⌈delay / target⌉. **Requires** that the chain can be cut before the stage.
  void schedule(StageInHand& stage, Ticks delay, std::int64_t periods, Ticks target) const;

  /// Whether layers [0, layers), on `normal` normal devices and the special device that already has `load`, must reach
  /// `limit` on some device.
  [[nodiscard]] bool is_too_much(std::uint32_t layers, std::uint32_t normal, Ticks load, Ticks limit) const;

 private:
  /// The figures of one layer and of the cut before it, without overheads.
  struct Part {
    Ticks load_before = 0;  // of all layers before
    Ticks load = 0;
    Ticks cut = 0;
    std::int64_t workspace = 0;
    std::int64_t buffers = 0;  // of the tensor that crosses the cut before the layer; only of a chain
  };

  /// Counts the tensors that pass from and to the layer that was prepended last.
  void exchange(StageInHand& stage) const;

  std::vector<Part> parts_;  // one more than layers
  RunSums parameters_;
  std::int64_t copies_;  // of the parameters
  RunSums stash_;
  std::shared_ptr<const Crossings> graph_;  // null for a chain
  Ticks overhead_;                          // of each stage
  std::int64_t each_buffer_;                // bytes of buffers for a byte exchanged
  std::uint32_t normal_devices_;
  std::int64_t capacity_;
  std::int64_t uncharged_;  // microbatches in flight that the special device is not charged for
  Ticks most_load_ = 0;
  Ticks total_cuts_ = 0;
  Ticks least_bottleneck_ = 0;
  Ticks largest_bottleneck_ = 0;
};

}  // namespace stagecraft::madpipe
