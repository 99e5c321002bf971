#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/executor.hpp"
#include "sim/replay/agenda.hpp"
#include "sim/replay/shared_transfers.hpp"
#include "sim/replay/simgrid_network.hpp"
#include "sim/replay/ways.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// The clock of a replay. It merges two timelines: dates in an agenda, and flows in a `FlowNetwork` (SimGrid). The ends
/// of computations, delays and latencies are dates of the agenda, and so is the end of a transfer that has all its
/// links to itself. Only the ends of transfers that share links come from the network.
///
/// While the network has no flow, the agenda alone determines what happens next, and the network's time stays behind.
/// Otherwise the network keeps the time: it holds an alarm for the agenda's earliest date, so that flow ends and dates
/// happen in their order.
class ReplayClock final : public Clock, private NetworkListener {
 public:
  /// `platform` must outlive the clock. `may_start`: as for FlowNetwork.
  ReplayClock(const Platform& platform, const Events& events, bool may_start);

  [[nodiscard]] Seconds now() const override { return agenda_.now(); }
  void complete_at(Start start, Seconds at) override;
  void wake_at(std::uint64_t token, Seconds at) override;
  void start_transfer(Start start, const Op& op, Seconds waited) override;
  void abort_transfer(Start start) override { transfers_.abort(start.op); }
  void set_bandwidth(LinkId link, BytesPerSecond bandwidth) override;
  void set_down(LinkId link, bool is_down) override { transfers_.set_down(link, is_down); }

  /// Runs until nothing is left to happen.
  void run(Executor& executor);

 private:
  void on_alarm() override;
  void on_flow_end(std::uint32_t flow) override;
  void on_settled() override;

  void happen(const Appointment& appointment);
  void happen_until(Seconds end);
  void set_alarm();

  Agenda agenda_;
  FlowNetwork network_;
  Ways ways_;
  SharedTransfers transfers_;
  Executor* executor_ = nullptr;
  std::vector<Seconds> alarms_;  ///< alarms set in the network, the earliest last
};

}  // namespace stagecraft
