#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/view/ascii_timeline.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// An instant of the whole run that viewers mark.
struct RunMark {
  Seconds at;
  std::string name;
  bool is_end = false;  ///< of an iteration or a microbatch
};

/// The ends of iterations, or in an asynchronous run of the microbatches between which its period is measured; where
/// the run goes on with another plan for the same model; and the events that happen. In the order of time; with a
/// window, those in it.
/// **Requires** a simulation that has kept its record. **Cost** O(entries + marks · log marks).
[[nodiscard]] std::vector<RunMark> run_marks(const Simulation& simulation, const Platform& platform,
                                             const std::optional<TimeRange>& window);

}  // namespace stagecraft
