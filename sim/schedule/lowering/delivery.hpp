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

/// Transfers leave as soon as their senders are done.
struct EagerDelivery {
  [[nodiscard]] static OpId oldest() { return OpId::none(); }
};

/// Sends and receives stand in the devices' orders: a transfer waits for both marks.
class ExplicitDelivery {
 public:
  void deliver(TransferKey key, PendingTransfer transfer) { posted_[key].transfers.push_back(std::move(transfer)); }
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
class RendezvousDelivery {
 public:
  void deliver(LoweringState& state, TransferKey key, PendingTransfer transfer);
  /// The receiver has come there: the transfers start after what its device ran last.
  void meet(LoweringState& state, ReplicaId receiver, std::int64_t index, bool gradient);
  [[nodiscard]] OpId oldest() const;

 private:
  /// By (receiver, board index, gradient).
  std::map<std::tuple<ReplicaId, std::int64_t, bool>, std::vector<PendingTransfer>> offers_;
};

using DeliveryRule = std::variant<EagerDelivery, Channels, ExplicitDelivery, RendezvousDelivery>;

/// Brings results to the replicas that need them.
class Delivery {
 public:
  /// `first` tells which rule the run keeps. `state` must outlive it.
  Delivery(LoweringState& state, const Schedule& first);

  /// The result of a replica's forward, or of its backward, leaves for all that need it.
  void send(ReplicaId from, std::uint32_t microbatch, OpId result, bool gradient);
  /// The replica is about to use what it got for a forward or a backward.
  void about_to_use(ReplicaId receiver, std::int64_t index, bool gradient) {
    if (auto* offers = std::get_if<RendezvousDelivery>(&rule_)) offers->meet(state_, receiver, index, gradient);
  }
  /// A mark of an explicit transfer stands in the replica's order.
  void post(ReplicaId replica, const Action& action, OpId mark);
  void take(const std::vector<ChannelOrder>& orders);
  void stop_at(std::int64_t end);

  /// Whether some channel takes what is ready first: then times do not follow from one pass.
  [[nodiscard]] bool has_ready_channels() const;
  [[nodiscard]] OpId oldest() const;

 private:
  void send_to(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void send_analytic(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient);
  void deliver(TransferKey key, PendingTransfer transfer);

  LoweringState& state_;
  DeliveryRule rule_;
  std::vector<Seconds> analytic_seconds_;             ///< by boundary, of one transfer; on the analytic network
  std::map<TransferKey, std::vector<OpId>> partial_;  ///< analytic: results of some of the sending replicas
};

}  // namespace stagecraft
