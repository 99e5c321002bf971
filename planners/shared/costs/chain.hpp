#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/crossings.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/run_maxima.hpp"
#include "sim/base/index.hpp"
#include "sim/base/ticks.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/periodic.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// More than three days. The chain is never cut where a transfer takes this long or longer, so that sums over thousands
/// of cuts do not overflow.
inline constexpr Ticks kLongestTransfer = Ticks{1} << 48;

/// A model as a chain and a platform as equal devices, as planners of periodic schedules see them. Layers are in
/// canonical order and take the time of the slowest device; any two devices are joined by one half-duplex link of the
/// smallest bandwidth; each device has the memory of the smallest one. Every duration is rounded up to a tick. A
/// backward includes the optimizer's step if the platform says how long it takes. Each pass of a stage, and each step,
/// also has the largest overhead of a kind of device. Each tensor that crosses a cut is
/// sent over it once, with the size of its largest edge. Which stages hold buffers for it is for the `Crossings` to
/// say.
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

  // Of a stage of the layers [begin, end), with its overheads; 0 without layers.
  [[nodiscard]] Ticks forward(std::size_t begin, std::size_t end) const {
    return begin == end ? 0 : forward_[end] - forward_[begin] + pass_overhead_;
  }
  [[nodiscard]] Ticks backward(std::size_t begin, std::size_t end) const {
    return begin == end ? 0 : backward_[end] - backward_[begin] + pass_overhead_ + update_overhead_;
  }
  [[nodiscard]] Ticks load(std::size_t begin, std::size_t end) const {
    return forward(begin, end) + backward(begin, end);
  }
  /// The part of each stage's load that does not depend on its layers.
  [[nodiscard]] Ticks overhead() const { return 2 * pass_overhead_ + update_overhead_; }
  /// The load of all layers, each as a stage of its own: no cut has more.
  [[nodiscard]] Ticks most_load() const { return load(0, size()) + static_cast<Ticks>(size() - 1) * overhead(); }

  // Sums over the layers [begin, end).
  [[nodiscard]] Bytes stash(std::size_t begin, std::size_t end) const { return stash_(begin, end); }
  [[nodiscard]] const RunSums& stashes() const { return stash_; }
  [[nodiscard]] const RunSums& parameters() const { return parameters_; }
  [[nodiscard]] std::int64_t copies_of_parameters() const { return copies_; }
  /// The largest workspace of one of the layers.
  [[nodiscard]] Bytes workspace(std::size_t begin, std::size_t end) const { return workspace_(begin, end); }
  /// Weights, gradients and optimizer state.
  [[nodiscard]] Bytes copies(std::size_t begin, std::size_t end) const { return parameters_(begin, end) * copies_; }
  /// The memory of a stage, as the memory ledger counts it.
  [[nodiscard]] Bytes memory(std::size_t begin, std::size_t end, std::int64_t in_flight, Bytes buffers) const {
    return copies(begin, end) + buffers + stash(begin, end) * in_flight + workspace(begin, end);
  }
  /// The largest number of microbatches in flight with which that stage holds at most `capacity`; 0 if not even one
  /// fits.
  [[nodiscard]] std::int64_t most_in_flight(std::size_t begin, std::size_t end, Bytes buffers, Bytes capacity) const;
  /// The buffers of a stage that exchanges that many bytes with stages on other devices.
  [[nodiscard]] Bytes buffers(Bytes exchanged) const { return exchanged * boundary_buffers_; }
  [[nodiscard]] const Crossings& crossings() const { return crossings_; }

  // The cut before layer `at`; all are 0 at both ends of the chain.
  [[nodiscard]] Ticks transfer(std::size_t at) const { return transfer_[at]; }  ///< one way, at most `kLongestTransfer`
  [[nodiscard]] Ticks cut_load(std::size_t at) const { return 2 * transfer_[at]; }

 private:
  std::vector<LayerId> order_;
  std::uint32_t device_count_ = 1;
  Bytes capacity_;
  std::vector<Ticks> forward_;   // sums over the layers before
  std::vector<Ticks> backward_;  // likewise
  Ticks pass_overhead_ = 0;
  Ticks update_overhead_ = 0;
  RunSums parameters_;
  std::int64_t copies_;  // of the parameters
  RunSums stash_;
  RunMaxima workspace_;
  std::vector<Ticks> transfer_;
  Crossings crossings_;
  std::int64_t boundary_buffers_;
};

/// **Throws** InputError if one microbatch takes `kLongestChain` or longer for all layers on one device.
void require_countable(const LayerGraph& graph, Seconds all);

/// `cut_bytes` extended by the two ends of the order, where nothing crosses. **Shape** layers + 1; entry i is the cut
/// before layer i.
[[nodiscard]] std::vector<Bytes> cut_bytes_with_ends(const LayerGraph& graph, const std::vector<LayerId>& order);

/// The buffers of each stage.
[[nodiscard]] std::vector<Bytes> stage_buffers(const Chain& chain, std::span<const ChainStage> stages);

/// The resources of contiguous stages: stage, cut, …, stage.
[[nodiscard]] std::vector<ChainResource> resources_of(const Chain& chain, std::span<const ChainStage> stages);

}  // namespace stagecraft
