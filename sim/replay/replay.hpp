#pragma once

#include "sim/model/events.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <functional>

namespace stagecraft {

/// How far a replay has come.
struct ReplayProgress {
  Seconds now;                   ///< simulated
  std::uint64_t operations = 0;  ///< that have ended
  friend bool operator==(const ReplayProgress&, const ReplayProgress&) = default;
};

struct ReplayOptions {
  Measurement measurement;
  bool timeline = false;  ///< whether the whole timeline is wanted too
  /// In this process instead of a child, without progress. SimGrid, which runs from the first transfer on that meets
  /// another, can do so once in the life of a process.
  bool in_place = false;
  /// Called about ten times a second while the replay runs. What it throws ends the replay.
  std::function<void(const ReplayProgress&)> progress;
};

struct ReplayOutcome {
  Report report;
  Timeline timeline;  ///< in the order of the starts; empty unless asked for
};

/// Runs the operations of a source on SimGrid, in a child process unless in place; the source is made, and asked for
/// its windows, there.
/// **Throws** InputError as the source threw it; InternalError if operations are left that can never start, or the
/// child died, then with what it wrote to its standard error.
/// **Cost** about 1.5 ms for the process and the engine, then about a microsecond for each operation.
/// **Source** H. Casanova et al., "Versatile, scalable, and accurate simulation of distributed applications and
/// platforms", JPDC 74(10), 2014; settings in `docs/explanation/simgrid.md`.
[[nodiscard]] ReplayOutcome replay(const Platform& platform, const std::function<OpSource()>& make_source,
                                   const Events& events, const ReplayOptions& options);

/// The same in this process: every span goes to `sink` in the order of the starts.
/// **Throws** InternalError if operations are left that can never start, or SimGrid has run in this process before.
void replay_here(const Platform& platform, OpSource source, const Events& events, const SpanSink& sink);

}  // namespace stagecraft
