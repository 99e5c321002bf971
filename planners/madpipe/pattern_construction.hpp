#pragma once

#include "planners/madpipe/pattern_problem.hpp"
#include "sim/base/ticks.hpp"

#include <optional>

namespace stagecraft::madpipe {

/// An order that keeps its memory, and the least period of that order.
struct FoundOrder {
  Turns turns;
  Ticks period = 0;
};

/// Builds patterns by hand for periods from the problem's least to `longest`, and returns the best that keeps its
/// memory. Like 1F1B* it works from the end of the chain: each forward as late, each backward as early as its resource
/// is free in the period. A heuristic: it may find nothing where there is something.
/// **Cost** O(tasks²) for each of some 60 periods, and a search of circles for each order that fits.
[[nodiscard]] std::optional<FoundOrder> construct_order(const PatternProblem& problem, Ticks longest);

}  // namespace stagecraft::madpipe
