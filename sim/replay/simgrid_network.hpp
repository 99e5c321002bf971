#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// Learns what happens in a `FlowNetwork`. It may start, suspend, resume and cancel flows from inside these calls.
class NetworkListener {
 public:
  NetworkListener() = default;
  NetworkListener(const NetworkListener&) = delete;
  NetworkListener& operator=(const NetworkListener&) = delete;
  NetworkListener(NetworkListener&&) = delete;
  NetworkListener& operator=(NetworkListener&&) = delete;
  virtual ~NetworkListener() = default;

  /// The time of an alarm has come.
  virtual void on_alarm() = 0;
  virtual void on_flow_end(std::uint32_t flow) = 0;
  /// All flows that end at this instant have been reported.
  virtual void on_settled() = 0;
};

/// Flows that share links max-min fairly, and alarms: all that a replay asks of SimGrid, and the one place that speaks
/// to it. A flow has no latency: its rate is its fair share from its start to its end.
///
/// SimGrid is started by the first flow or alarm, and does not learn of a link before a flow crosses it. It keeps
/// global state, so in the life of a process only one of these may start it; those that need no flow leave nothing
/// behind.
class FlowNetwork {
 public:
  /// `listener` must outlive the network.
  explicit FlowNetwork(NetworkListener& listener);
  ~FlowNetwork() = default;
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;
  FlowNetwork(FlowNetwork&&) = delete;
  FlowNetwork& operator=(FlowNetwork&&) = delete;

  /// Expects many flows that depend on each other: all rates are worked out anew when one begins or ends, instead of
  /// those that this may change. Either way gives the same rates.
  /// **Requires** that there has been no flow and no alarm yet, else it is too late and nothing changes.
  void expect_dense_traffic() { is_dense_ = true; }
  /// Adds a link, at any time; returns its number.
  std::uint32_t add_link(BytesPerSecond bandwidth);
  [[nodiscard]] Seconds now() const;
  /// `on_alarm` at `at`, which is not in the past.
  void set_alarm(Seconds at);
  /// A flow over some links, none of them twice; its number is free again once it has ended.
  /// **Units** `bytes` may be a fraction: what is left of a transfer.
  /// **Requires** at least one link, and more than nothing to send.
  std::uint32_t start(std::span<const std::uint32_t> links, double bytes);
  /// The flow rests, with what is left of it, until it is resumed.
  void suspend(std::uint32_t flow);
  void resume(std::uint32_t flow);
  /// Ends the flow without a report.
  void cancel(std::uint32_t flow);
  /// From now on the link carries this much.
  void set_bandwidth(std::uint32_t link, BytesPerSecond bandwidth);
  /// Whether no flow is under way, or rests.
  [[nodiscard]] bool is_empty() const;
  /// Whether flows have ended at this instant that are not reported yet.
  [[nodiscard]] bool has_unreported() const;
  /// Runs until nothing is left to happen. What a listener throws comes through, and the network is lost.
  void run();

 private:
  class World;
  [[nodiscard]] World& world();

  NetworkListener& listener_;
  bool is_dense_ = false;
  World* world_ =
      nullptr;  ///< SimGrid's state lasts as long as the process: taken down after an exception it would crash
  std::vector<BytesPerSecond> bandwidths_;
};

}  // namespace stagecraft
