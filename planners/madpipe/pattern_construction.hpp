#pragma once

#include "planners/madpipe/pattern_problem.hpp"
#include "sim/base/ticks.hpp"

#include <optional>

namespace stagecraft::madpipe {

/// An order that fits in memory, and its least period.
struct FoundOrder {
  Turns turns;
  Ticks period = 0;
};

/// Constructs patterns for some periods from the problem's least period to `longest`, and returns the best one that
/// fits in memory. Like 1F1B* it works from the end of the chain: each forward is placed as late, and each backward as
/// early, as its resource is free in the period. This is a heuristic: it may find no pattern although there is one.
/// **Cost** O(tasks²) for each of some 60 periods, and a search for cycles for each order that fits.
[[nodiscard]] std::optional<FoundOrder> construct_order(const PatternProblem& problem, Ticks longest);

}  // namespace stagecraft::madpipe
