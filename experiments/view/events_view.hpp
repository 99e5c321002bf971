#pragma once

#include "experiments/run/simulation.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// The events file of the run: which of its events happened, when and to whom, which never did, and which
/// happened to devices that the plan did not use; null without one.
[[nodiscard]] Detail events_record(const Simulation& simulation, const Platform& platform);

/// The same as a line and a table; nothing without events.
[[nodiscard]] std::string events_text(const Simulation& simulation, const Platform& platform);

/// A line for each event that names only devices that the plan does not use then, at most a few; nothing without any.
[[nodiscard]] std::vector<std::string> idle_events_words(const Simulation& simulation, const Platform& platform);

/// An event that has happened, in words: `gpu1 takes 1.5 times the time`.
struct EventWords {
  Seconds at;
  std::string words;
};
[[nodiscard]] std::vector<EventWords> events_words(const Simulation& simulation, const Platform& platform);

}  // namespace stagecraft
