#pragma once

#include "experiments/view/trace_content.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/detail.hpp"

#include <optional>

namespace stagecraft {

/// Writes the run as trace events in JSON, for Perfetto and chrome://tracing: a process for each place with a thread for each
/// of its tracks, a slice for each operation, an arrow to each operation from what it waited for last where a transfer
/// is involved, and counters for the memory of each place and the transfers on each link. Times are in microseconds.
/// `about` describes the run; with a window only the part of the run within it is written.
/// **Cost** O(entries · log entries), some 500 bytes for each, of which some 50 are in memory.
/// **Source** "Trace Event Format", Google, 2016.
void chrome_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                  const TextSink& sink);

}  // namespace stagecraft
