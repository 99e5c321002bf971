#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/dispatcher.hpp"
#include "sim/engine/disruptions.hpp"
#include "sim/engine/held_ends.hpp"
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

/// Runs the windows of an operation graph on a clock. It decides when each operation may start, given dependencies,
/// lanes, exclusive links, not-before times and events. Both engines are this executor with a different clock, so they
/// differ only in how transfers share links.
///
/// All completions of one instant are reported before `dispatch` starts the operations that they make ready. So at each
/// instant everything that wants a lane or link is known, and the least (priority, time it became ready, id) gets it.
class Executor {
 public:
  /// `platform` and `clock` must outlive the executor.
  Executor(const Platform& platform, OpSource source, const Events& events, RunSink sink, Clock& clock);
  Executor(const Executor&) = delete;  // its parts refer to each other
  Executor& operator=(const Executor&) = delete;

  /// Pulls the first windows and starts every operation that can start.
  void begin();
  void complete(Start done);
  void wake(std::uint64_t token) { wakes_.ring(token); }
  /// Starts every operation that the completions and wakes since the last call have made possible. Pulls windows when a
  /// device has no further operation.
  void dispatch();

  /// Whether several operations may compete at one instant. Then the order of completions within the instant must not
  /// matter, so `dispatch` may be called only when all of them have been reported.
  [[nodiscard]] bool is_contested() const { return is_contested_; }
  /// Whether operations may compete for an exclusive link, or for a lane that takes whatever is ready. Then dates that
  /// differ by rounding only have to be one instant, or rounding would decide which operation goes first.
  [[nodiscard]] bool has_competition() const { return has_competition_; }
  [[nodiscard]] bool is_finished() const { return is_exhausted_ && operations_.unfinished() == 0; }
  [[nodiscard]] std::uint64_t unfinished() const { return operations_.unfinished(); }

 private:
  void pull_windows();
  void pull();
  void load(const OpGraph& window);
  void start(std::uint64_t op);
  void run(std::uint64_t op, const Operation& what);
  void handle_wakes();
  void reconsider(std::uint64_t op);
  void abandon(std::uint32_t go_on_with);

  OpSource source_;
  Clock& clock_;
  OperationStore operations_;
  HeldEnds held_ends_;
  Resources resources_;
  Outages outages_;
  Speeds speeds_;
  Wakes wakes_;
  Observations observations_;
  Dispatcher dispatcher_;
  SpanLog log_;
  Disruptions disruptions_;
  bool has_competition_;
  bool is_contested_;
  bool is_exhausted_ = false;  ///< no window is left
};

}  // namespace stagecraft
