#pragma once

#include "planners/planner.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Recomputes each layer (`layer`), or each stage as a whole (`stage`), and nothing else; with `none` nothing changes.
void recompute_stages(std::vector<Stage>& stages, const std::string& recompute);

/// With several stages on a device their times add up, so the cut with the least largest stage need not be fast: the
/// plan with its layers shifted (`shift_layers`), and it fits: first while a shift saves three thousandths of the time,
/// then while one saves any and the fullest device needs no more memory.
/// **Requires** a plan that has been judged and has no memory actions but those of `recompute`.
/// **Cost** an evaluation for each shift that is tried, twice as many as `shift_layers` tries at most.
[[nodiscard]] Planned shifted_plan(const PlanRequest& request, Planned best, const std::string& recompute);

}  // namespace stagecraft
