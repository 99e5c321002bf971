#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/transfer.hpp"

#include <array>
#include <limits>
#include <map>
#include <vector>

namespace stagecraft {

/// Boundaries whose transfers keep an order, or go one at a time.
class Channels {
 public:
  /// `orders`: those of a first segment; later ones list the same channels. On the analytic network every boundary has
  /// a channel, listed or not.
  Channels(LoweringState& state, const std::vector<ChannelOrder>& orders);

  /// Appends each channel's next transfers to what it has left.
  void take(LoweringState& state, const std::vector<ChannelOrder>& orders);
  void stop_at(std::int64_t end);
  void deliver(LoweringState& state, TransferKey key, PendingTransfer transfer);

  [[nodiscard]] bool any_ready() const;
  [[nodiscard]] OpId oldest() const;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  using Ways = std::array<std::size_t, 2>;  ///< of activations, of gradients

  /// One transfer at a time, over all its boundaries together.
  struct Channel {
    LaneId lane;  ///< none: transfers have their not-before times, no more
    Discipline discipline = Discipline::Ready;
    std::vector<std::size_t> boundaries;  ///< as its order numbers them; none: nothing flows there
    std::vector<TransferKey> turns;       ///< strict: the order
    std::size_t cursor = 0;
    std::map<TransferKey, ChannelAction> listed;                  ///< priorities and not-before times
    std::map<TransferKey, std::vector<PendingTransfer>> waiting;  ///< strict: not yet their turn
    [[nodiscard]] bool has_turns() const { return !lane.is_none() && discipline == Discipline::Strict; }
  };
  /// How transfers get over a boundary.
  struct Crossing {
    Ways channel{kNone, kNone};
    std::size_t flows = 1;  ///< transfers for one microbatch
  };

  [[nodiscard]] std::vector<Ways> find_orders(const LoweringState& state, const std::vector<ChannelOrder>& orders);
  void assign(LoweringState& state, const std::vector<ChannelOrder>& orders, std::size_t boundary, const Ways& order);
  [[nodiscard]] std::size_t open(LoweringState& state, const ChannelOrder* order, std::uint32_t lanes);
  [[nodiscard]] static std::uint32_t pairs_over(const LoweringState& state, const std::vector<std::size_t>& boundaries);
  void append_in_turn(LoweringState& state, Channel& channel);

  std::vector<Channel> channels_;
  std::vector<std::size_t> channel_of_order_;  ///< none: nothing flows there
  std::vector<std::vector<std::size_t>> boundaries_of_order_;
  std::vector<Crossing> boundaries_;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace stagecraft
