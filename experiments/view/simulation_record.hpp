#pragma once

#include "experiments/run/simulation.hpp"
#include "experiments/view/explanation.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

struct Plan;

/// A simulation as `simulate --json` shows it (docs/reference/report.md). `memory_bytes` of a device is the memory that
/// plans may use, that is, without the reserved part. `overflows` lists the places that ran out of memory, when they
/// first did, and how much they lack.
[[nodiscard]] Detail::Record simulation_record(const Simulation& simulation, const LayerGraph& graph, const Plan& plan,
                                               const Platform& platform, const Explanation& explanation, bool timings);

/// Every operation of the timeline, by start, then id.
[[nodiscard]] Detail::List timeline_list(const Timeline& timeline, const Platform& platform);

}  // namespace stagecraft
