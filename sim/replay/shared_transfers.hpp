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
#include <set>
#include <utility>
#include <vector>

namespace stagecraft {

/// Transfers over links that others may use too. A transfer that has all its links to itself needs no network: it runs
/// at the bandwidth of the narrowest link and ends at a date of the agenda. When another transfer comes to one of these
/// links, both become flows of the network, the first one with its remaining bytes. The network then divides each link
/// among its flows by max-min fairness. A transfer that gives way to a smaller class rests. So does one with a link
/// that is down, and it holds up no other.
class SharedTransfers {
 public:
  /// Both must outlive the transfers.
  SharedTransfers(FlowNetwork& network, Agenda& agenda) : network_(network), agenda_(agenda) {}

  /// Starts a transfer over a route with shared links; its first byte leaves after `latency`. It has more than 0 bytes
  /// unless a link of the route may fail.
  void start(Start start, const Op& op, const Way& way, Seconds latency, Seconds end_alone);
  void abort(OpId op);
  /// An appointment `LatencyPaid` of the agenda.
  void pay_latency(const Appointment& appointment);
  /// An appointment `LastByte`: ends the transfer and returns its start, unless it has become a flow since.
  [[nodiscard]] std::optional<Start> end_alone(const Appointment& appointment);
  /// A flow of the network has ended, and with it its transfer. Returns the transfer's start, and when it would have
  /// ended alone. **Requires** that the agenda has reached this instant: other transfers may start now.
  [[nodiscard]] std::pair<Start, Seconds> end_flow(std::uint32_t flow);
  /// The link's bandwidth is about to change: a transfer that is alone on it enters the network, which handles changes.
  void prepare_change(LinkId link);
  /// The link is down from now on, or up again (`Clock::set_down`).
  void set_down(LinkId link, bool is_down);

  /// Sets the network's time. It may be behind the agenda's; transfers that meet then wait until it has caught up.
  void set_network_time(Seconds at) { network_at_ = at; }
  /// The network has reached the present: the transfers that have waited for it become flows.
  void let_enter();
  /// Whether transfers wait until the network has reached the present.
  [[nodiscard]] bool are_entering() const { return !entering_.empty(); }

 private:
  void start_flow(Transfer& transfer);
  void stay_alone(Transfer& transfer);
  void enter_network(Transfer& transfer);
  void expect_meetings();
  void flow(Transfer& transfer);
  void stop(Transfer& transfer);
  void go_on(Transfer& transfer);
  [[nodiscard]] bool is_stopped(const Way& way) const;
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
  bool have_met_ = false;                                          ///< two transfers have shared a link
  Seconds network_at_;                                             ///< the network's time
  bool has_classes_ = false;                                       ///< a transfer of another class than 0 has been seen
  RightOfWay right_of_way_;
  std::vector<RightOfWay::Change> changes_;
  std::set<LinkId> down_;
};

}  // namespace stagecraft
