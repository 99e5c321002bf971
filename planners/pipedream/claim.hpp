#pragma once

#include "planners/pipedream/recurrence.hpp"
#include "sim/model/figures.hpp"

namespace stagecraft {
struct Plan;
}

namespace stagecraft::pipedream {

/// What the planner predicts for a plan made of `answer`, with the updates of the plan's schedule. An asynchronous
/// schedule synchronises after every round, as the recurrence has it, so the claim is the answer's period. A
/// synchronous one synchronises once: the claim is (microbatches + stages - 1) times the period without
/// synchronisation, and the longest synchronisation of a stage.
[[nodiscard]] Figures claim(const Plan& plan, const DownSets& states, const Settings& settings, const Answer& answer);

}  // namespace stagecraft::pipedream
