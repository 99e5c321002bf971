#pragma once

#include "experiments/run/overrides.hpp"
#include "experiments/run/planning_choices.hpp"
#include "planners/planner.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The planners that a command uses.
using UsedPlanners = std::vector<std::shared_ptr<const PlannerInfo>>;

/// An option of a planner as the user gives it.
struct PlannerOption {
  std::string planner;
  std::string key;  ///< `memory`: the planner's memory policy, unless it takes any option
  std::string value;
};

/// What the user sets with `--set`.
struct SetValues {
  std::vector<PlannerOption> options;
  Overrides overrides;
};

/// Reads the texts of `--set` (docs/reference/command-line.md): `PLANNER.KEY=VALUE` for a planner that is used,
/// `KEY=VALUE` for each of those that have such an option, `platform.PATH=VALUE` and `model.PATH=VALUE`.
/// **Throws** InputError that names the option for a name that means nothing or is given twice, for a planner that is
/// not used, and for a value that the planner refuses. Whether a path leads anywhere only `load_inputs` can tell.
[[nodiscard]] SetValues read_set_option(const std::vector<std::string>& texts, const UsedPlanners& planners = {});

/// The choices with what is set for this planner: its options, and its memory policy.
[[nodiscard]] PlanningChoices choices_of(const PlannerInfo& planner, PlanningChoices choices, const SetValues& set);

/// Where a name `PLANNER.KEY` is divided. The name of an external planner may contain dots, its keys contain none.
/// `npos` if there is no dot.
[[nodiscard]] std::size_t planner_end(std::string_view name);

/// The hint for an option of a planner that is written `options.PLANNER.KEY`; empty for other names.
[[nodiscard]] std::string suggest_option_name(const std::string& name);

}  // namespace stagecraft
