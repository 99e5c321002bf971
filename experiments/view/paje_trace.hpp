#pragma once

#include "experiments/view/trace_content.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/detail.hpp"

#include <optional>

namespace stagecraft {

/// Writes the run as a Paje trace, which the tools of SimGrid's users read: a container for each place with one for each of its
/// tracks, and one for each link; a state for each operation, pushed and popped; a link for each arrow; variables for
/// the memory of each place and the transfers on each link; an event for each mark. Times are seconds to a picosecond.
/// Paje has no way to write a double quote or a line feed in a name: they become a quote and a space.
/// `about` describes the run in comments; with a window only the part of the run within it is written.
/// **Cost** O(entries · log entries), some 150 bytes for each.
/// **Source** "Paje trace file format", Schnorr, 2013-2016.
void paje_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                const TextSink& sink);

}  // namespace stagecraft
