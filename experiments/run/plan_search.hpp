#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/planning_choices.hpp"
#include "planners/planner.hpp"
#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/report.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// What came of planning with some choices.
struct PlanTry {
  PlanningChoices choices = {};
  std::optional<Plan> plan = {};             ///< if there is one, whether or not it fits
  Figures figures = {};                      ///< of the plan without contention, without its memory
  bool is_replayed = false;                  ///< its time and samples/s are those of a replay that the planner has made
  double samples_per_second = 0.0;           ///< the same
  std::optional<DeviceReport> fullest = {};  ///< the plan's device that is fullest for its capacity
  std::optional<Infeasible> lacking = {};    ///< why there is no plan, or what the plan lacks
  std::optional<InputError> refusal = {};    ///< the choices were refused

  [[nodiscard]] bool fits() const { return !lacking && !refusal; }
};

/// What was tried, and the best of it.
struct PlanSearch {
  /// Those that fit with the most samples/s first; then those that lack memory with the least first, and those of which
  /// it is not known how much; then refusals. Equal ones are in the order of the combinations.
  std::vector<PlanTry> tries;
  /// The answer for the first, as `plan_at_chosen_size` gives it. Its time is that of all.
  Planning planning;
};

/// How a search tells what it does.
struct SearchListener {
  std::string activity;               ///< `looking for the fastest tensor groups`
  const char* noun = "combinations";  ///< what is counted; lives as long as the program
  std::function<void(const std::vector<PlanTry>& best_first)> on_try = {};  ///< hears of all so far; may be empty
  std::function<void(const Planning&)> on_best = {};  ///< hears of each plan that fits and is faster; may be empty
  std::function<void(const std::string&)> say = {};   ///< what the planner said of the best
};

/// Plans with each of the combinations as `plan_at_chosen_size`, and evaluates each plan (`evaluate_planning`).
/// **Requires** a combination. **Throws** InputError, the first refusal, if all are refused, and if an external planner
/// fails.
[[nodiscard]] PlanSearch search_plans(const PlannerInfo& planner, const Inputs& inputs,
                                      const std::vector<PlanningChoices>& combinations, const SearchListener& listener);

}  // namespace stagecraft
