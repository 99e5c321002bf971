#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <span>

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
/// SimGrid keeps global state, so a process may make one of these in its life.
class FlowNetwork {
 public:
  /// `listener` must outlive the network.
  explicit FlowNetwork(NetworkListener& listener);
  ~FlowNetwork() = default;
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;
  FlowNetwork(FlowNetwork&&) = delete;
  FlowNetwork& operator=(FlowNetwork&&) = delete;

  /// Adds a link, at any time; returns its number.
  std::uint32_t add_link(BytesPerSecond bandwidth);
  [[nodiscard]] Seconds now() const;
  /// `on_alarm` at `at`, which is not in the past.
  void set_alarm(Seconds at);
  /// A flow over some links, none of them twice; its number is free again once it has ended.
  /// **Requires** at least one link and one byte.
  std::uint32_t start(std::span<const std::uint32_t> links, Bytes bytes);
  /// The flow rests, with what is left of it, until it is resumed.
  void suspend(std::uint32_t flow);
  void resume(std::uint32_t flow);
  /// Ends the flow without a report.
  void cancel(std::uint32_t flow);
  /// From now on the link carries this much.
  void set_bandwidth(std::uint32_t link, BytesPerSecond bandwidth);
  /// Whether flows have ended at this instant that are not reported yet.
  [[nodiscard]] bool has_unreported() const;
  /// Runs until nothing is left to happen. What a listener throws comes through, and the network is lost.
  void run();

 private:
  class World;
  World* world_;  ///< SimGrid's state lasts as long as the process: taken down after an exception it would crash
};

}  // namespace stagecraft
