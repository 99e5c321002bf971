#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning_choices.hpp"
#include "planners/planner.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace stagecraft {

/// A planner's answer.
struct Planning {
  const PlannerInfo* planner = nullptr;  ///< outlives this
  LayerGraph graph;                      ///< at the microbatch size planned for
  PlanResult result;
  Seconds time;  ///< that the planner took
  /// If there is no plan: the largest smaller microbatch size with a plan (`Infeasible::sizes_to_try`). None if there
  /// is no such size, or if planning is too costly to repeat.
  std::optional<std::int64_t> largest_microbatch_size;

  [[nodiscard]] const Planned* planned() const { return std::get_if<Planned>(&result); }
};

/// Plans, and checks the plan.
/// **Throws** InputError for choices that make no sense; InternalError if a planner of this program breaks a rule.
[[nodiscard]] Planning make_plan(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                                 const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
