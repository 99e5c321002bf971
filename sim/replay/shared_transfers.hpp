#pragma once

#include "sim/engine/clock.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/replay/agenda.hpp"
#include "sim/replay/link_uses.hpp"
#include "sim/replay/right_of_way.hpp"
#include "sim/replay/simgrid_network.hpp"
#include "sim/replay/transfer_table.hpp"
#include "sim/replay/ways.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// Transfers over links that others may use too. One that has all its links to itself needs no network: it ends at a
/// date of the agenda, at the rate of the narrowest link. When another comes to one of those links, both become flows
/// of the network, the first with what is left of it. A transfer that has to give way rests.
class SharedTransfers {
 public:
  /// Both must outlive the transfers.
  SharedTransfers(FlowNetwork& network, Agenda& agenda) : network_(network), agenda_(agenda) {}

  /// A transfer of more than nothing starts, over a way with shared links.
  void start(Start start, const Op& op, const Way& way, Seconds end_alone);
  void abort(OpId op);
  /// An appointment `LatencyPaid` of the agenda.
  void pay_latency(const Appointment& appointment);
  /// An appointment `LastByte`: the start of the transfer that ends, if it still does.
  [[nodiscard]] std::optional<Start> end_alone(const Appointment& appointment);
  /// Which start a flow of the network belonged to, and when that would have ended alone. The transfer is over.
  [[nodiscard]] std::pair<Start, Seconds> end_flow(std::uint32_t flow);
  /// The link's bandwidth is about to change: what is alone on it enters the network, which knows how to go on.
  void prepare_change(LinkId link);

  /// How far the network has come. It may lag behind the agenda; transfers that meet then wait before they enter it.
  void set_network_time(Seconds at) { network_at_ = at; }
  /// The network has come to the present: those that have waited for it flow.
  void let_enter();
  /// Whether transfers wait until the network has come to the present.
  [[nodiscard]] bool are_entering() const { return !entering_.empty(); }

 private:
  void start_flow(Transfer& transfer);
  void stay_alone(Transfer& transfer);
  void enter_network(Transfer& transfer);
  void expect_meetings();
  void flow(Transfer& transfer);
  [[nodiscard]] bool is_ending(const Transfer& transfer) const;
  void leave(Transfer& transfer);
  void give_way(const Transfer& newcomer);
  void enter_right_of_way(const Transfer& transfer);
  void apply_changes();

  FlowNetwork& network_;
  Agenda& agenda_;
  TransferTable transfers_;
  LinkUses uses_;
  std::vector<std::uint32_t> transfer_of_;                         ///< by flow
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entering_;  ///< numbers and serials
  bool have_met_ = false;                                          ///< two transfers have
  Seconds network_at_;                                             ///< how far the network has come
  bool has_classes_ = false;                                       ///< a transfer of another class than 0 has been seen
  RightOfWay right_of_way_;
  std::vector<RightOfWay::Change> changes_;
};

/// How far apart two dates may be that mean the same: SimGrid reaches a date by adding differences and takes dates
/// within 1e-12 s for one. A transfer that never shared a link ends at the very instant `evaluate` would give.
[[nodiscard]] double date_noise(Seconds date);

}  // namespace stagecraft
