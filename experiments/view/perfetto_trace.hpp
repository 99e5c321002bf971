#pragma once

#include "experiments/view/trace_content.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/detail.hpp"

#include <optional>

namespace stagecraft {

/// Writes the run as a trace of Perfetto in its own format, bytes of Protocol Buffers: a process for each place with a
/// thread for each of its tracks, a slice for each operation with its figures as debug annotations, a flow for each
/// arrow, and counters in bytes for the memory of each place and in numbers for the transfers on each link. Times are
/// whole nanoseconds. `about` describes the run; with a window only the part of the run within it is written.
/// **Cost** O(entries · log entries), some 140 bytes for each, of which some 50 are in memory.
/// **Source** protos/perfetto/trace of Perfetto: `TracePacket`, `TrackEvent`, `TrackDescriptor`, `InternedData`.
void perfetto_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                    const TextSink& sink);

}  // namespace stagecraft
