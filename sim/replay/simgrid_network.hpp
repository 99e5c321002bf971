#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace stagecraft {

/// Is called when something happens in a `FlowNetwork`. It may start, suspend, resume and cancel flows inside these
/// calls.
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

/// Is thrown in place of a start of SimGrid where that is not wanted.
struct EngineNeeded {};

/// Flows that share links by max-min fairness, and alarms. This is everything that a replay needs from SimGrid, and the
/// only class that uses it. A flow has no latency: it has its fair share of bandwidth from its start to its end.
///
/// SimGrid is started by the first flow or alarm, and it learns of a link when the first flow crosses it. It keeps
/// global state, so in the life of a process only one `FlowNetwork` may start it. One without flows and alarms leaves
/// no state.
class FlowNetwork {
 public:
  /// `listener` must outlive the network. Without `may_start` the first flow or alarm **throws** EngineNeeded.
  explicit FlowNetwork(NetworkListener& listener, bool may_start = true);
  ~FlowNetwork() = default;
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;
  FlowNetwork(FlowNetwork&&) = delete;
  FlowNetwork& operator=(FlowNetwork&&) = delete;

  /// Expects many flows that depend on each other: when a flow begins or ends, all rates are computed anew, instead of
  /// only those that may change. Both methods give the same rates.
  /// **Requires** that there has been no flow and no alarm yet; later calls have no effect.
  void expect_dense_traffic() { is_dense_ = true; }
  /// Adds a link, at any time; returns its number.
  std::uint32_t add_link(BytesPerSecond bandwidth);
  [[nodiscard]] Seconds now() const;
  /// `on_alarm` at `at`, which is not in the past.
  void set_alarm(Seconds at);
  /// Starts a flow over some links, none of them twice. Its number may be reused when it has ended.
  /// **Units** `bytes` may be a fraction: the remaining bytes of a transfer.
  /// **Requires** at least one link, and more than nothing to send.
  std::uint32_t start(std::span<const std::uint32_t> links, double bytes);
  /// The flow stops and keeps its remaining bytes until it is resumed.
  void suspend(std::uint32_t flow);
  void resume(std::uint32_t flow);
  /// Ends the flow without a report.
  void cancel(std::uint32_t flow);
  /// Changes the link's bandwidth from now on.
  void set_bandwidth(std::uint32_t link, BytesPerSecond bandwidth);
  /// Whether there is no flow, neither moving nor suspended.
  [[nodiscard]] bool is_empty() const;
  /// Whether flows have ended at this instant that are not reported yet.
  [[nodiscard]] bool has_unreported() const;
  /// Runs until nothing is left to happen. An exception of the listener passes through, and the network is unusable
  /// then.
  void run();

 private:
  class World;
  [[nodiscard]] World& world();

  NetworkListener& listener_;
  bool may_start_;
  bool is_dense_ = false;
  World* world_ =
      nullptr;  ///< SimGrid's state lasts as long as the process: taken down after an exception it would crash
  std::vector<BytesPerSecond> bandwidths_;
};

}  // namespace stagecraft
