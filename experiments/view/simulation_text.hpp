#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/view/explanation.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

struct Plan;

/// A simulation for people: headline figures, one line for each device of where its time went, the bottleneck
/// and the busiest links, what would fit if memory was lacking, and what was predicted, evaluated and simulated side by
/// side.
[[nodiscard]] std::string simulation_text(const Simulation& simulation, const Plan& plan, const Platform& platform,
                                          const Explanation& explanation, bool timings);

}  // namespace stagecraft
