#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <string>

namespace stagecraft {

/// Whether the plan divides gradients among devices (`zero` of 2 or 3) in a pipeline of several stages.
[[nodiscard]] bool divides_gradients_in_pipeline(const Plan& plan);

/// What other programs do with such a plan, as half a sentence.
extern const char* const kGradientsInPipelines;

/// Lines on a plan that a user may not expect: that other programs refuse it, and that it swaps more in an iteration
/// than a device's memory. Empty if there are none.
/// **Cost** O(layers · replicas) of stages that swap.
[[nodiscard]] std::string plan_remarks(const LayerGraph& graph, const Platform& platform,
                                       const ScheduleProgram& program);

}  // namespace stagecraft
