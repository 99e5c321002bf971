#pragma once

#include "experiments/view/ascii_timeline.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// A recorded run.
struct TracedRun {
  const Platform& platform;
  const RunRecord& record;
  bool crosses_links = true;  ///< whether transfers cross the platform's links, and not channels of their own
};

/// The run as trace events in JSON, for Perfetto and chrome://tracing: a process for each place with a thread for each
/// of its tracks, a slice for each operation, an arrow to each operation from whatever it waited for where a transfer
/// is involved, and counters for the memory of each place and the transfers on each link. Times are in microseconds.
/// `about` describes the run; with a window only the part of the run within it is written.
/// **Cost** O(entries · log entries), some 250 bytes for each.
/// **Source** "Trace Event Format", Google, 2016.
[[nodiscard]] std::string chrome_trace(const TracedRun& run, const Detail::Record& about,
                                       const std::optional<TimeRange>& window);

}  // namespace stagecraft
