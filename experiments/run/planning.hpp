#pragma once

#include "experiments/run/inputs.hpp"
#include "planners/planner.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The user's choices for a planner. The comment of an optional field gives its default.
struct PlanningChoices {
  std::optional<ScheduleChoice> schedule;       ///< the planner's own
  std::optional<std::int64_t> microbatches;     ///< 4 × devices; asynchronous runs at least as many as can be measured
  std::optional<std::int64_t> global_batch;     ///< samples; instead of `microbatches`
  std::optional<std::int64_t> microbatch_size;  ///< the model's
  std::int64_t iterations = 1;                  ///< to simulate; a run that is too long is refused before planning
  Training training;
  std::vector<std::pair<std::string, std::string>> options;  ///< of the planner
};

/// A planner's answer.
struct Planning {
  const PlannerInfo* planner = nullptr;  ///< outlives this
  LayerGraph graph;                      ///< at the microbatch size planned for
  PlanResult result;
  Seconds time;  ///< that the planner took
  /// If there is no plan: the largest smaller microbatch size with a plan, found by bisection. None if there is no such
  /// size, or if planning is too costly to repeat.
  std::optional<std::int64_t> largest_microbatch_size;

  [[nodiscard]] const Planned* planned() const { return std::get_if<Planned>(&result); }
};

/// Plans, and checks the plan.
/// **Throws** InputError for choices that make no sense; InternalError if a planner of this program breaks a rule.
[[nodiscard]] Planning make_plan(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                                 const std::function<void(const std::string&)>& say);

}  // namespace stagecraft
