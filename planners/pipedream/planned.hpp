#pragma once

#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/memory_test.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "planners/planner.hpp"

#include <vector>

namespace stagecraft::pipedream {

/// What is planned: the request in PipeDream's terms.
struct Problem {
  const PlanRequest& request;
  LayerGraph graph;  ///< with the recomputation in the backward
  MemoryChoices choices;
  Settings settings;
  std::vector<Level> levels;  ///< of the platform; those of `settings` have as many members or fewer
  double work = 0.0;          ///< so far, as `Planned::work`
};

/// The plan of an answer to the problem, with the first devices of each member, and with its details.
[[nodiscard]] Planned planned(const Problem& problem, const DownSets& states, const Answer& answer);

}  // namespace stagecraft::pipedream
