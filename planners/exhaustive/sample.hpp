#pragma once

#include "planners/exhaustive/search.hpp"
#include "planners/planner.hpp"
#include "sim/model/plan.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft::exhaustive {

/// The result of `sample`.
struct Sample {
  std::int64_t drawn = 0;     ///< plans drawn, the last one included
  std::vector<Stage> stages;  ///< of the last plan drawn; empty if none of the plans drawn can be run
};

/// Draws a plan of the space at random: the number of stages first, every number with the same probability, then one of
/// the plans with as many stages, all with the same probability. A plan that cannot be run or does not fit is replaced
/// by another draw, up to 1,000 times. Equal numbers `seed` draw equal plans on every machine.
/// **Cost** O(stages · layers · choices of devices) for a draw, and the ledger of each plan drawn.
[[nodiscard]] Sample sample(const PlanRequest& request, const SearchSettings& settings, std::int64_t seed);

}  // namespace stagecraft::exhaustive
