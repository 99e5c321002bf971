#pragma once

#include "planners/planner.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <functional>

namespace stagecraft {

/// Compiles a planner's plan for the whole platform, as it is to run. **Throws** InputError if its schedule refuses it.
using PlanCompiler = std::function<ScheduleProgram(const Plan&)>;

/// The judge of flushed plans, which runs an iteration of them as `simulate` does, each replay in a process of its own.
/// Where links are exclusive a replay may be faster than an evaluation, so that its evaluations say nothing: 0.
/// Graph, platform and all that `compile` refers to must outlive it.
[[nodiscard]] Judge judge_of(const LayerGraph& graph, const Platform& platform, PlanCompiler compile);

}  // namespace stagecraft
