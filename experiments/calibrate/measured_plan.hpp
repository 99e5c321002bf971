#pragma once

#include "experiments/calibrate/measured_steps.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

namespace stagecraft {

/// The plan of a measured step as frameworks for language models make it: stages of equally many blocks, the embedding
/// on the first and the head on the last, on the first devices of the platform. The members of a group stand together,
/// then the replicas of a stage, then the stages. With several chunks the schedule is `interleaved-1f1b`, else `1f1b`.
/// `graph` is the profile of a member of the step's groups.
/// **Throws** InputError, at the step, for a network that cannot be divided so, samples that the replicas cannot share
/// equally, more devices than the platform has, a run that is too large, and a plan that breaks a rule.
[[nodiscard]] Plan measured_plan(const MeasuredStep& step, const LayerGraph& graph, const Platform& platform);

}  // namespace stagecraft
