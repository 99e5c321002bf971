#pragma once

#include "experiments/run/simulation.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// The events file of the run: which of its events happened, when and to whom, and which never did; null without one.
[[nodiscard]] Detail events_record(const Simulation& simulation, const Platform& platform);

/// The same as a line and a table; nothing without events.
[[nodiscard]] std::string events_text(const Simulation& simulation, const Platform& platform);

}  // namespace stagecraft
