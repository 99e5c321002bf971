#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/view/explanation.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

struct Plan;

/// `64 microbatches of 1 sample on tensor groups of 4, zero 1`: what a run trains with, and what divides it.
[[nodiscard]] std::string microbatches_text(const Simulation& simulation, const Plan& plan);

/// A simulation as text: the main figures, a line for each device with the shares of its time, the bottleneck and the
/// busiest links, the changes that would make the plan fit if memory was lacking, and the predicted, evaluated and
/// simulated times side by side.
[[nodiscard]] std::string simulation_text(const Simulation& simulation, const Plan& plan, const Platform& platform,
                                          const Explanation& explanation, bool timings);

}  // namespace stagecraft
