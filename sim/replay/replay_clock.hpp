#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/executor.hpp"
#include "sim/replay/right_of_way.hpp"
#include "sim/replay/simgrid_network.hpp"
#include "sim/replay/ways.hpp"

#include <cstdint>
#include <queue>
#include <vector>

namespace stagecraft {

/// Time as a `FlowNetwork` lets it pass. Computations, delays and latencies are dates in a heap of ours, for which the
/// network holds one alarm at a time; a transfer becomes a flow when its latency is paid.
class ReplayClock final : public Clock, private NetworkListener {
 public:
  /// `platform` must outlive the clock.
  ReplayClock(const Platform& platform, const Events& events);

  [[nodiscard]] Seconds now() const override { return now_; }
  void complete_at(Start start, Seconds at) override;
  void wake_at(std::uint64_t token, Seconds at) override;
  void start_transfer(Start start, const Op& op) override;
  void abort_transfer(Start start) override;
  void set_bandwidth(LinkId link, BytesPerSecond bandwidth) override;

  /// Runs until nothing is left to happen.
  void run(Executor& executor);

 private:
  enum class What : std::uint8_t { Complete, Wake, LatencyPaid };
  struct Instant {
    Seconds at;
    std::uint64_t order = 0;   ///< of equal dates, first in, first out
    std::uint64_t number = 0;  ///< operation, token or transfer
    std::uint32_t generation = 0;
    What what = What::Complete;
    friend bool operator>(const Instant& a, const Instant& b) { return a.at != b.at ? a.at > b.at : a.order > b.order; }
  };
  /// A transfer under way over shared links.
  struct Transfer {
    enum class State : std::uint8_t { Free, Latency, Waiting, Flowing } state = State::Free;
    bool rests = false;  ///< gives way to another
    std::uint8_t transfer_class = 0;
    std::uint32_t serial = 0;  ///< of the transfer under this number
    std::uint32_t flow = 0;    ///< while it flows
    Start start;
    Bytes bytes;
    Seconds end_alone;  ///< when it ends if it never shares a link
    const Way* way = nullptr;
  };

  void on_alarm() override;
  void on_flow_end(std::uint32_t flow) override;
  void on_settled() override;

  void push(Seconds at, What what, std::uint64_t number, std::uint32_t generation);
  void happen(const Instant& instant);
  void happen_until(Seconds end);
  void set_alarm();
  Transfer& add_transfer();
  [[nodiscard]] std::uint32_t number_of(const Transfer& transfer) const;
  void start_flow(Transfer& transfer);
  void leave(Transfer& transfer);
  void enter_classes();
  void apply_changes();

  FlowNetwork network_;
  Ways ways_;
  Executor* executor_ = nullptr;
  Seconds now_;
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> heap_;
  std::uint64_t next_order_ = 0;
  std::vector<Seconds> alarms_;  ///< that are set, the earliest last
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> transfer_of_;  ///< by flow
  bool has_classes_ = false;                ///< a transfer of another class than 0 has been seen
  RightOfWay right_of_way_;
  std::vector<RightOfWay::Change> changes_;
};

}  // namespace stagecraft
