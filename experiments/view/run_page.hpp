#pragma once

#include "experiments/view/ascii_timeline.hpp"
#include "experiments/view/explanation.hpp"
#include "experiments/view/figures.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/layer_graph.hpp"

#include <optional>

namespace stagecraft {

/// A simulation with its record, and what explains it.
struct ShownRun {
  SimulatedPlan run;
  const LayerGraph& graph;
  const Explanation& explanation;
  bool timings = false;  ///< whether to tell how long the simulation took
};

/// Writes the run as one HTML file that needs no other file and no network: figures, timeline, memory and links over
/// time, and the plan (docs/reference/run-page.md). With a window it shows the operations of this part of the run.
/// **Throws** InputError for more than `run_limits::kMostWritten` operations.
void run_page(const ShownRun& shown, const std::optional<TimeRange>& window, const TextSink& sink);

}  // namespace stagecraft
