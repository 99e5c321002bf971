#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/executor.hpp"
#include "sim/replay/right_of_way.hpp"
#include "sim/replay/simgrid_network.hpp"
#include "sim/replay/ways.hpp"

#include <cstdint>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

namespace stagecraft {

/// Time as a `FlowNetwork` lets it pass. Computations, delays and latencies are dates in a heap of ours, and so is the
/// end of a transfer that has all its links to itself: its rate is that of the narrowest. When another comes to one of
/// those links, both become flows of the network, the first with what is left of it. While the network holds no flow,
/// the heap alone says what happens next; else the network holds one alarm at a time, for the heap's earliest date.
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
  enum class What : std::uint8_t { Complete, Wake, LatencyPaid, LastByte };
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
    enum class State : std::uint8_t {
      Free,
      Latency,   ///< not paid yet
      Waiting,   ///< for its right of way, before its first byte
      Alone,     ///< on all its links; ends at `end_alone`
      Entering,  ///< a flow as soon as the network has come to the present
      Flowing,
    } state = State::Free;
    bool rests = false;  ///< gives way to another
    std::uint8_t transfer_class = 0;
    std::uint32_t serial = 0;  ///< of the transfer under this number
    std::uint32_t flow = 0;    ///< while it flows
    Start start;
    double left = 0.0;         ///< bytes, when it starts to flow
    Seconds end_alone;         ///< when it ends if it never shares a link
    BytesPerSecond narrowest;  ///< of its links, as `end_alone` supposes
    const Way* way = nullptr;
  };
  static constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
  /// Who uses a link of the network.
  struct LinkUse {
    std::uint32_t alone = kNobody;  ///< the transfer that has it to itself
    std::uint32_t flows = 0;        ///< of the network, those that rest or are about to enter included
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
  void stay_alone(Transfer& transfer);
  void enter_network(Transfer& transfer);
  void prepare_network();
  void flow(Transfer& transfer);
  void leave_links(const Transfer& transfer);
  [[nodiscard]] bool is_ending(const Transfer& transfer) const;
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
  std::vector<std::uint32_t> transfer_of_;                         ///< by flow
  std::vector<LinkUse> uses_;                                      ///< by network link
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entering_;  ///< numbers and serials
  bool has_met_ = false;                                           ///< two transfers have
  Seconds network_at_;                                             ///< how far the network has come
  bool has_classes_ = false;                                       ///< a transfer of another class than 0 has been seen
  RightOfWay right_of_way_;
  std::vector<RightOfWay::Change> changes_;
};

}  // namespace stagecraft
