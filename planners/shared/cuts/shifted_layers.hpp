#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"

#include <functional>
#include <vector>

namespace stagecraft {

/// Shifts one layer at a time from a stage of the plan to another one of its pipeline, and those between along, as long
/// as that `gains`: it is asked whether the stages, which it may keep, are faster than the best ones before. The stages
/// have no memory actions. A local search, which ends where no shift gains, or after 256 questions, or so many that
/// they have some 260,000 microbatches on stages together.
/// **Requires** pipelines of contiguous stages in canonical order. **Cost** O(stages²) each round.
void shift_layers(const LayerGraph& graph, const Plan& plan,
                  const std::function<bool(const std::vector<Stage>&)>& gains);

}  // namespace stagecraft
