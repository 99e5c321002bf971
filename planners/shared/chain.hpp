#pragma once

#include "planners/planner.hpp"
#include "planners/shared/limits.hpp"
#include "sim/base/index.hpp"
#include "sim/base/ticks.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// More than three days: a cut that takes this long or longer is no cut. Sums over thousands of cuts stay in range.
inline constexpr Ticks kLongestTransfer = Ticks{1} << 48;

/// Layers [begin, end) of a chain, by position, on one of the devices.
struct ChainStage {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::uint32_t device = 0;
  friend bool operator==(const ChainStage&, const ChainStage&) = default;
};

/// A model as a chain and a platform as equal devices, the way planners of periodic schedules see them: layers in
/// canonical order on the slowest device, any two devices joined by one half-duplex link of the smallest bandwidth, the
/// smallest device's memory. Every duration is rounded up to a tick; the optimizer's step after each backward, where
/// the platform says how long it takes, counts in it. At a cut, all tensors that cross it are sent on, each once, at
/// the largest of its edges.
class Chain {
 public:
  /// **Throws** InputError if a device's speed is not known, two devices are not connected or the layers take longer
  /// than `kLongestChain`.
  /// **Cost** O(layers² + edges) at worst, O(layers log layers) for a chain.
  Chain(const PlanRequest& request, std::int64_t weight_versions);

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::uint32_t device_count() const { return device_count_; }
  [[nodiscard]] Bytes capacity() const { return capacity_; }
  [[nodiscard]] const std::vector<LayerId>& order() const { return order_; }

  // Of the layers [begin, end).
  [[nodiscard]] Ticks forward(std::size_t begin, std::size_t end) const { return forward_[end] - forward_[begin]; }
  [[nodiscard]] Ticks backward(std::size_t begin, std::size_t end) const { return backward_[end] - backward_[begin]; }
  [[nodiscard]] Ticks load(std::size_t begin, std::size_t end) const {
    return forward(begin, end) + backward(begin, end);
  }
  [[nodiscard]] Bytes stash(std::size_t begin, std::size_t end) const { return stash_[end] - stash_[begin]; }
  /// What a layer needs most while it runs.
  [[nodiscard]] Bytes workspace(std::size_t begin, std::size_t end) const;
  /// Weights, gradients and optimizer state, without buffers.
  [[nodiscard]] Bytes copies(std::size_t begin, std::size_t end) const { return copies_[end] - copies_[begin]; }
  /// Of a stage with other devices on both sides, as the ledger counts it (contract, section 5).
  [[nodiscard]] Bytes memory(std::size_t begin, std::size_t end, std::int64_t in_flight) const {
    return copies(begin, end) + buffers_[begin] + buffers_[end] + stash(begin, end) * in_flight + workspace(begin, end);
  }
  /// The most microbatches in flight with which it holds no more than `capacity`; 0 if not even one.
  [[nodiscard]] std::int64_t most_in_flight(std::size_t begin, std::size_t end, Bytes capacity) const;

  // Of the cut before layer `at`, 0 at both ends of the chain.
  [[nodiscard]] Ticks transfer(std::size_t at) const { return transfer_[at]; }  ///< one way, at most `kLongestTransfer`
  [[nodiscard]] Ticks cut_load(std::size_t at) const { return 2 * transfer_[at]; }
  [[nodiscard]] Bytes buffers(std::size_t at) const { return buffers_[at]; }  ///< on either side

 private:
  std::vector<LayerId> order_;
  std::uint32_t device_count_ = 1;
  Bytes capacity_;
  std::vector<Ticks> forward_;   // sums over the layers before
  std::vector<Ticks> backward_;  // likewise
  std::vector<Bytes> copies_;
  std::vector<Bytes> stash_;
  std::vector<std::vector<Bytes>> workspace_;  // [i][l]: the most of 2^i layers from l on
  std::vector<Ticks> transfer_;
  std::vector<Bytes> buffers_;
};

/// **Throws** InputError if all layers together, one microbatch on one device, take `kLongestChain` or longer.
void require_countable(const LayerGraph& graph, Seconds all);

/// `cut_bytes` with the two ends of the order, where nothing crosses. **Shape** layers + 1; entry i is the cut before
/// layer i.
[[nodiscard]] std::vector<Bytes> crossing_bytes(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The resources of contiguous stages: stage, cut, …, stage.
[[nodiscard]] std::vector<ChainResource> resources_of(const Chain& chain, std::span<const ChainStage> stages);

}  // namespace stagecraft
