#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/dispatcher.hpp"
#include "sim/engine/disruptions.hpp"
#include "sim/engine/observations.hpp"
#include "sim/engine/operation_store.hpp"
#include "sim/engine/outages.hpp"
#include "sim/engine/resources.hpp"
#include "sim/engine/span_log.hpp"
#include "sim/engine/speeds.hpp"
#include "sim/engine/wakes.hpp"
#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>

namespace stagecraft {

/// Runs the windows of an operation graph on a clock: what may start when, under dependencies, lanes, exclusive links,
/// not-before times, and events. Both engines are this executor over a different clock, so they differ in nothing but
/// how transfers share links.
///
/// All completions of one instant are reported before `dispatch` starts what they set free, so that at each instant
/// everything that wants a lane or link is known and the least (priority, time it became ready, id) gets it.
class Executor {
 public:
  /// `platform` and `clock` must outlive the executor.
  Executor(const Platform& platform, OpSource source, const Events& events, SpanSink sink, Clock& clock);
  Executor(const Executor&) = delete;  // its parts refer to each other
  Executor& operator=(const Executor&) = delete;

  /// Pulls the first windows and starts what can start.
  void begin();
  void complete(Start done);
  void wake(std::uint64_t token) { wakes_.ring(token); }
  /// Starts what the completions and wakes since the last call have made possible; pulls windows as devices run dry.
  void dispatch();

  /// At one instant several operations may compete, so the order of completions within it must not matter: `dispatch`
  /// has to be put off until all of them are in.
  [[nodiscard]] bool is_contested() const { return is_contested_; }
  [[nodiscard]] bool is_finished() const { return is_exhausted_ && operations_.unfinished() == 0; }
  [[nodiscard]] std::uint64_t unfinished() const { return operations_.unfinished(); }

 private:
  void pull_windows();
  void load(const OpGraph& window);
  void start(std::uint64_t op);
  void run(std::uint64_t op, const Operation& what);
  void handle_wakes();
  void reconsider(std::uint64_t op);

  OpSource source_;
  Clock& clock_;
  OperationStore operations_;
  Resources resources_;
  Outages outages_;
  Speeds speeds_;
  Wakes wakes_;
  Observations observations_;
  Dispatcher dispatcher_;
  SpanLog log_;
  Disruptions disruptions_;
  bool is_contested_;
  bool is_exhausted_ = false;  ///< no window is left
};

}  // namespace stagecraft
