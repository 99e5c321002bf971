#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/transfer.hpp"

#include <array>
#include <limits>
#include <map>
#include <vector>

namespace stagecraft {

/// The channels of a schedule: groups of boundaries whose transfers keep a given order, go one at a time, or have
/// not-before times.
///
/// A channel that is exclusive has lanes of its own, so that the engine runs one transfer at a time on each. On a ready
/// lane the engine chooses among the transfers that are ready. A strict lane runs transfers in the order in which they
/// are appended, so a strict channel holds transfers back until all that come before them in its order are appended.
class Channels {
 public:
  /// `orders` are those of the first segment; later segments list the same channels. On the analytic network every
  /// boundary has a channel, listed or not.
  Channels(LoweringState& state, const std::vector<ChannelOrder>& orders);

  /// Appends the next segment's transfers to what each channel has left of its order.
  void take(LoweringState& state, const std::vector<ChannelOrder>& orders);
  /// Drops the transfers of microbatches from `end` on, now and from segments taken later.
  void stop_at(std::int64_t end);
  /// The senders of the transfer are lowered: appends it, or keeps it until its strict channel has come to it.
  void deliver(LoweringState& state, TransferKey key, PendingTransfer transfer);

  /// Whether some exclusive channel chooses among the transfers that are ready.
  [[nodiscard]] bool any_ready() const;
  /// The least operation that a transfer held back here depends on.
  [[nodiscard]] OpId oldest() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  /// For activations and for gradients, in this order: the position of a channel, or of a channel's order; or `kNone`.
  using PerDirection = std::array<std::size_t, 2>;

  /// If it is exclusive, one transfer at a time over all its boundaries together (between stages that divide their
  /// microbatches, one at a time for each pair of replicas).
  struct Channel {
    LaneId lane;  ///< the first of its lanes; none: it is not exclusive, only its not-before times count
    Discipline discipline = Discipline::Ready;
    std::vector<std::size_t> boundaries;          ///< in the numbering of its order; kNone: nothing flows there
    std::vector<TransferKey> order;               ///< strict: transfers in the order in which they must be appended
    std::size_t cursor = 0;                       ///< the first of `order` that is not appended yet
    std::map<TransferKey, ChannelAction> listed;  ///< priorities and not-before times
    std::map<TransferKey, std::vector<PendingTransfer>> waiting;  ///< strict: delivered before the cursor reached them
    [[nodiscard]] bool keeps_order() const { return !lane.is_none() && discipline == Discipline::Strict; }
  };
  /// The channels of one boundary, by direction.
  struct Crossing {
    PerDirection channel{kNone, kNone};
    std::size_t flows = 1;  ///< transfers for one microbatch
  };

  [[nodiscard]] std::vector<PerDirection> find_orders(const LoweringState& state,
                                                      const std::vector<ChannelOrder>& orders);
  void assign(LoweringState& state, const std::vector<ChannelOrder>& orders, std::size_t boundary,
              const PerDirection& order);
  [[nodiscard]] std::size_t open(LoweringState& state, const ChannelOrder* order, std::uint32_t lanes);
  [[nodiscard]] static std::uint32_t pairs_over(const LoweringState& state, const std::vector<std::size_t>& boundaries);
  void append_in_order(LoweringState& state, Channel& channel);

  std::vector<Channel> channels_;
  std::vector<std::size_t> channel_of_order_;  ///< kNone: nothing flows over any of its boundaries
  std::vector<std::vector<std::size_t>> boundaries_of_order_;
  std::vector<Crossing> boundaries_;  ///< by boundary of the plan
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace stagecraft
