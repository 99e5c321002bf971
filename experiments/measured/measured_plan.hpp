#pragma once

#include "experiments/measured/measured_steps.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// The plan of a measured step as Megatron-LM makes it of such flags (`megatron_plan`), on the first devices of the
/// platform. The members of a group stand together, then the replicas of a stage, then the stages.
/// `graph` is the profile of a member of the step's groups.
/// **Throws** InputError, at the step, for a network that cannot be divided so, samples that the replicas cannot share
/// equally, more devices than the platform has, a run that is too large, and a plan that breaks a rule.
[[nodiscard]] Plan measured_plan(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform);

}  // namespace stagecraft
