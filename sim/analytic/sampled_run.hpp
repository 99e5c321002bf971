#pragma once

#include "sim/analytic/representatives.hpp"
#include "sim/analytic/transfer_cost.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/engine/ring.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {

/// An operation that a bound looks at.
struct SampledOp {
  Op op;
  Seconds time;  ///< that it takes at least
  Seconds head;  ///< the longest chain of operations before it
  std::uint32_t needs_end = 0;
  std::uint32_t lanes_end = 0;
};

/// Whether an operation of that kind belongs to one microbatch.
[[nodiscard]] constexpr bool is_of_microbatch(OpKind kind) {
  return (is_compute(kind) && kind != OpKind::Update) || kind == OpKind::Activation || kind == OpKind::Gradient ||
         kind == OpKind::SwapOut || kind == OpKind::SwapIn || kind == OpKind::ExchangeFlow;
}

/// Which operations bounds look at.
struct Sampling {
  Representatives representatives;
  /// An iteration's microbatches wait for each other: all are taken, and none stands for another one's operations.
  bool takes_all = false;
  std::int64_t round = 0;  ///< the microbatches after which the updates of an asynchronous run repeat; 0: an iteration
  std::int64_t rounds_per_update = 1;  ///< rounds of turns
};

/// What bounds look at of a run: the operations of its representatives, and those of no microbatch, of an asynchronous
/// run only the updates and all-reduces of its first round.
///
/// Each operation comes with what it needs whatever the order of the devices. A lowered run has dependencies that are
/// there only because of its order or its caps, and leaves out some that its order implies.
class SampledRun {
 public:
  /// `platform` and `replicas` must outlive it.
  SampledRun(const Platform& platform, const Replicas& replicas, Sampling sampling);

  /// **Requires** all windows of a run, or those of its first iteration; ignores later ones.
  /// **Cost** for an operation that is no part of the sample, that of looking at it.
  void add(const OpGraph& window);

  /// Whether it has the last backward of each replica that keeps an order, which must not stand for others before it.
  [[nodiscard]] bool has_ends() const {
    return std::ranges::none_of(misses_end_, [](char misses) { return misses != 0; });
  }
  /// Whether the sample has all of an iteration, or of an asynchronous run, and of one plan.
  [[nodiscard]] bool is_whole() const { return is_one_plan_ && ops_.size() < kMost && (round() > 0 || has_ended_); }
  /// In the order of their numbers.
  [[nodiscard]] const std::vector<SampledOp>& ops() const { return ops_; }
  /// The positions of what the operation at a position needs.
  [[nodiscard]] std::span<const std::uint32_t> needs_of(std::size_t at) const {
    const std::size_t begin = at == 0 ? 0 : ops_[at - 1].needs_end;
    return std::span(needs_).subspan(begin, ops_[at].needs_end - begin);
  }
  /// Its lanes beyond the first one.
  [[nodiscard]] std::span<const LaneId> extra_lanes_of(std::size_t at) const {
    const std::size_t begin = at == 0 ? 0 : ops_[at - 1].lanes_end;
    return std::span(extra_lanes_).subspan(begin, ops_[at].lanes_end - begin);
  }
  [[nodiscard]] const Lane& lane(LaneId id) const { return lanes_[id.value()]; }
  /// Whether the lane takes its operations in the order in which they were appended.
  [[nodiscard]] bool is_strict(LaneId id) const { return !id.is_none() && lane(id).discipline == Discipline::Strict; }
  [[nodiscard]] const Platform& platform() const { return platform_; }
  [[nodiscard]] const Replicas& replicas() const { return replicas_; }
  [[nodiscard]] const Representatives& representatives() const { return sampling_.representatives; }
  [[nodiscard]] bool takes_all() const { return sampling_.takes_all; }
  [[nodiscard]] std::int64_t round() const { return sampling_.round; }
  /// The replica to which a computation belongs, or by which a transfer arrives.
  [[nodiscard]] ReplicaId replica_at(PlaceId place, const Op& op) const {
    return replicas_.on(platform_.device(place))[op.chunk];
  }

 private:
  static constexpr std::size_t kMost = 4'000'000;  ///< operations of a sample; each takes some 100 bytes
  static constexpr std::uint32_t kUnsampled = ~std::uint32_t{0};
  [[nodiscard]] bool has(const Op& op) const;
  void add(const OpGraph& window, std::size_t i, std::span<const LaneId> extra_lanes);
  void add_needs(const OpGraph& window, std::size_t i);

  const Platform& platform_;
  const Replicas& replicas_;
  Sampling sampling_;
  TransferCost cost_;
  std::vector<Lane> lanes_;
  std::vector<SampledOp> ops_;
  std::vector<std::uint32_t> needs_;
  std::vector<LaneId> extra_lanes_;
  Ring<std::uint32_t> position_of_;  ///< in `ops_`, of the operations that later ones may depend on
  /// By replica and microbatch the last computation that was appended, on lanes that keep the order of appending.
  std::map<std::pair<ReplicaId, std::uint32_t>, std::uint32_t> last_;
  IndexVector<ReplicaId, char> misses_end_;  ///< whether the last backward so far is no part of the sample
  bool is_one_plan_ = true;
  bool has_ended_ = false;  ///< the iteration
};

}  // namespace stagecraft
