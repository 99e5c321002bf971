#pragma once

#include "planners/planner.hpp"

#include <string>
#include <vector>

namespace stagecraft {

/// Recomputes each layer (`layer`), or each stage as a whole (`stage`), and nothing else; with `none` nothing changes.
void recompute_stages(std::vector<Stage>& stages, const std::string& recompute);

/// With several stages on a device their times add up, so the cut with the least largest stage need not be fast: the
/// plan with its layers shifted (`shift_layers`) as long as that makes it faster, and it fits. A shift with which the
/// fullest device takes more memory has to save three thousandths of the time.
/// **Requires** a plan that has been judged and has no memory actions but those of `recompute`.
/// **Cost** an evaluation for each shift that is tried.
[[nodiscard]] Planned shifted_plan(const PlanRequest& request, Planned best, const std::string& recompute);

}  // namespace stagecraft
