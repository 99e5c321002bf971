#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/channels.hpp"
#include "sim/schedule/lowering/explicit_delivery.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"
#include "sim/schedule/lowering/transfer.hpp"

#include <map>
#include <optional>
#include <tuple>
#include <variant>
#include <vector>

namespace stagecraft {

// The delivery rules. A rule decides when the transfer of a result is appended, and what it waits for besides its
// senders. One rule holds for a whole plan: that of the transfers of its schedule. If they are eager, a schedule with
// channels and every plan on the analytic network use `Channels`.

/// A transfer starts as soon as its senders are done.
struct EagerDelivery {
  [[nodiscard]] static OpId oldest() { return OpId::none(); }
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
  /// Sends and receives that an order joins have been appended as marks. **Requires** that transfers are listed.
  void post(const std::vector<PostedMark>& batch) { std::get<ExplicitDelivery>(rule_).post(state_, batch); }
  /// Whether the device waits for the ends of its sends and receives before it goes on.
  [[nodiscard]] bool holds(std::size_t device) const {
    const auto* listed = std::get_if<ExplicitDelivery>(&rule_);
    return listed != nullptr && listed->holds(device);
  }
  /// The first send or receive of the device that cannot start; none if there is no such.
  [[nodiscard]] std::optional<WaitingMark> waiting(std::size_t device) const {
    const auto* listed = std::get_if<ExplicitDelivery>(&rule_);
    return listed == nullptr ? std::nullopt : listed->waiting(state_, device);
  }
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
