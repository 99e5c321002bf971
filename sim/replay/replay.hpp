#pragma once

#include "sim/engine/run_recorder.hpp"
#include "sim/model/events.hpp"
#include "sim/model/measurement.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

namespace stagecraft {

/// The progress of a replay.
struct ReplayProgress {
  Seconds now;                   ///< simulated
  std::uint64_t operations = 0;  ///< number of operations that have ended
  friend bool operator==(const ReplayProgress&, const ReplayProgress&) = default;
};

struct ReplayOptions {
  Measurement measurement;
  RecordPart record = RecordPart::None;
  std::size_t spans = 0;  ///< the record has room for so many at once
  /// Run in this process instead of a child, without progress. SimGrid is started when two transfers share a link for
  /// the first time, and it can be started only once in the life of a process.
  bool in_place = false;
  /// Called about ten times a second while the replay runs. An exception that it throws ends the replay.
  std::function<void(const ReplayProgress&)> progress;
};

struct ReplayOutcome {
  Report report;
  RunRecord record;  ///< its timeline in the order of the starts
};

/// Runs the operations of a source on SimGrid, in a child process unless `in_place`. The source is made and asked for
/// its windows in that process.
/// **Throws** InputError as the source threw it; InternalError if operations are left that can never start, or if the
/// child died (with its standard error).
/// **Cost** about 1.5 ms for the process and the engine, then about a microsecond for each operation.
/// **Source** H. Casanova et al., "Versatile, scalable, and accurate simulation of distributed applications and
/// platforms", JPDC 74(10), 2014; settings in `docs/explanation/simgrid.md`.
[[nodiscard]] ReplayOutcome replay(const Platform& platform, const std::function<OpSource()>& make_source,
                                   const Events& events, const ReplayOptions& options);

/// The same in this process, for a short run that does not need SimGrid because no transfers share a link. None for
/// another run, of which the source may have given a part.
/// **Throws** as `replay`.
[[nodiscard]] std::optional<ReplayOutcome> replay_without_engine(const Platform& platform, OpSource source,
                                                                 const Events& events, const ReplayOptions& options);

/// The same in this process. Every span goes to `sink`, in the order of the starts.
/// **Throws** InternalError if operations are left that can never start, or SimGrid has run in this process before;
/// EngineNeeded where SimGrid would have to start and may not.
void replay_here(const Platform& platform, OpSource source, const Events& events, const RunSink& sink,
                 bool may_start = true);

}  // namespace stagecraft
