#pragma once

#include "experiments/simulation.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft {

/// A simulation for people: headline figures, one line for each device of where its time went, the bottleneck, and
/// what was predicted, evaluated and simulated side by side.
[[nodiscard]] std::string simulation_text(const Simulation& simulation, const Plan& plan, const Platform& platform,
                                          bool timings);

}  // namespace stagecraft
