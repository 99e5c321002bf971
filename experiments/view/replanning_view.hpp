#pragma once

#include "experiments/run/simulation.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <string>

namespace stagecraft {

/// The windows of a run, the questions to a re-planner, the changes of the plan and the migrations, as `simulate
/// --json` shows them (docs/reference/report.md); only what there is. `plan`: the one that the run begins with.
[[nodiscard]] Detail::Record replanning_record(const Simulation& simulation, const LayerGraph& graph, const Plan& plan,
                                               const Platform& platform);

/// The same as text; empty for a run that is neither disturbed nor may change its plan.
[[nodiscard]] std::string replanning_text(const Simulation& simulation);

/// `the plan changed 2 times, first at microbatch 256`; empty if it did not.
[[nodiscard]] std::string replans_line(const Report& report);

}  // namespace stagecraft
