#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/channels.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/transfer.hpp"

#include <map>
#include <tuple>
#include <variant>
#include <vector>

namespace stagecraft {

// The delivery rules. A rule decides when the transfer of a result is appended, and what it waits for besides its
// senders. One rule holds for a whole plan: `explicit_transfers` and `rendezvous` of its schedule choose the rule of
// that name. Without them, a schedule with channels and every plan on the analytic network use `Channels`, and all
// others are eager.

/// A transfer starts as soon as its senders are done.
struct EagerDelivery {
  [[nodiscard]] static OpId oldest() { return OpId::none(); }
};

/// Sends and receives are actions of the devices' orders, lowered as marks (`OpKind::Post`). A transfer waits for its
/// sender's mark and for its receiver's.
class ExplicitDelivery {
 public:
  void deliver(TransferKey key, PendingTransfer transfer) { posted_[key].transfers.push_back(std::move(transfer)); }
  /// One of the two marks is appended. The second one appends the transfers: a send is lowered only after its result
  /// (`Compute::lower_mark`), so by then they have been delivered.
  void post(LoweringState& state, TransferKey key, bool is_send, OpId mark);
  [[nodiscard]] OpId oldest() const;

 private:
  struct Posted {
    OpId send;
    OpId receive;
    std::vector<PendingTransfer> transfers;
  };
  std::map<TransferKey, Posted> posted_;
};

/// A transfer waits until its receiver has come to the action that needs it.
///
/// A receiver's next action can be lowered only when all its inputs are on its board, but a rendezvous transfer can be
/// appended only when that action is lowered. So `deliver` puts the sender's result on the board in place of the
/// transfer, and `meet` replaces it by the transfer just before the action is appended.
class RendezvousDelivery {
 public:
  void deliver(LoweringState& state, TransferKey key, PendingTransfer transfer);
  /// The receiver has come to the action. Its transfers are appended; they start after the device's last operation.
  void meet(LoweringState& state, ReplicaId receiver, std::int64_t index, bool gradient);
  [[nodiscard]] OpId oldest() const;

 private:
  /// Transfers whose receiver has not come to its action yet, by (receiver, board index, gradient).
  std::map<std::tuple<ReplicaId, std::int64_t, bool>, std::vector<PendingTransfer>> held_;
};

using DeliveryRule = std::variant<EagerDelivery, Channels, ExplicitDelivery, RendezvousDelivery>;

/// Brings results to the replicas that need them.
class Delivery {
 public:
  /// `first` is the plan's first segment; it tells which rule holds. `channel_times` are those of the analytic network
  /// by boundary, or empty. `state` must outlive it.
  Delivery(LoweringState& state, const Schedule& first, const std::vector<Seconds>& channel_times);

  /// The forward of a replica, or with `gradient` its backward, has been appended as `result`: sends it to every
  /// replica that needs it.
  void send(ReplicaId from, std::uint32_t microbatch, OpId result, bool gradient);
  /// The replica's forward, or with `gradient` its backward, is appended next.
  void about_to_use(ReplicaId receiver, std::int64_t index, bool gradient) {
    if (auto* rendezvous = std::get_if<RendezvousDelivery>(&rule_)) rendezvous->meet(state_, receiver, index, gradient);
  }
  /// A send or a receive of the replica's order has been appended as `mark`.
  void post(ReplicaId replica, const Action& action, OpId mark);
  /// The channel orders of the next segment.
  void take(const std::vector<ChannelOrder>& orders);
  /// Transfers of microbatches from `end` on are dropped from the channels' orders.
  void stop_at(std::int64_t end);

  /// Whether some channel chooses among the transfers that are ready. Then times do not follow from one pass.
  [[nodiscard]] bool has_ready_channels() const;
  /// Whether transfers pass through host memory, leg by leg.
  [[nodiscard]] bool takes_legs() const;
  [[nodiscard]] OpId oldest() const;

 private:
  void send_to(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void send_analytic(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void deliver(TransferKey key, PendingTransfer transfer);

  LoweringState& state_;
  DeliveryRule rule_;
  std::vector<Seconds> analytic_seconds_;             ///< analytic network: time of one transfer, by boundary
  std::map<TransferKey, std::vector<OpId>> partial_;  ///< analytic network: results while some senders are not done
};

}  // namespace stagecraft
