#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/option_text.hpp"
#include "experiments/planning.hpp"
#include "experiments/report/comparison.hpp"
#include "experiments/simulation.hpp"
#include "planners/registry.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace stagecraft {
namespace {

struct Options {
  std::vector<std::string> models;
  PlatformOptions platform;
  std::optional<std::string> planners;
  PlanningOptions planning;
  SimulationOptions simulation;
  std::vector<std::string> set;
};

/// What is the same for every planner and model.
struct Choices {
  std::vector<const PlannerInfo*> planners;
  PlanningChoices planning;
  SimulationChoices simulation;
  std::vector<std::pair<std::string, std::pair<std::string, std::string>>> set;  ///< planner, (option, value)
};

std::vector<const PlannerInfo*> read_planners(const std::optional<std::string>& text) {
  if (!text) return all_planners();
  std::vector<const PlannerInfo*> planners;
  for (const std::string& name : read_list_option("--planners", *text)) {
    const PlannerInfo* planner = &find_planner(name);
    if (std::ranges::find(planners, planner) != planners.end()) {
      throw InputError(quote(name) + " is given twice", {"", 0, 0, "--planners"});
    }
    planners.push_back(planner);
  }
  return planners;
}

Choices read_choices(const Options& options) {
  Choices choices{.planners = read_planners(options.planners),
                  .planning = read_planning_choices(options.planning),
                  .simulation = read_simulation_choices(options.simulation),
                  .set = {}};
  for (const std::string& text : options.set) {
    const auto [name, value] = read_assignment("--set", text);
    const std::size_t point = name.find('.');
    if (point == std::string::npos || point == 0) {
      throw InputError("expected PLANNER.KEY=VALUE, found " + quote(text), {"", 0, 0, "--set"});
    }
    const std::string planner = name.substr(0, point);
    if (std::ranges::find(choices.planners, &find_planner(planner)) == choices.planners.end()) {
      throw InputError("the planner " + quote(planner) + " is not compared", {"", 0, 0, "--set"});
    }
    choices.set.push_back({planner, {name.substr(point + 1), value}});
  }
  return choices;
}

ComparisonRow compare_one(const PlannerInfo& planner, const Inputs& inputs, const Choices& choices,
                          const Settings& settings) {
  PlanningChoices planning = choices.planning;
  for (const auto& [name, option] : choices.set) {
    if (name == planner.name) planning.options.push_back(option);
  }
  ComparisonRow row{make_plan(planner, inputs, planning, settings.say), std::nullopt};
  if (const Planned* planned = row.planning.planned()) {
    row.simulation = simulate_plan(row.planning.graph, inputs.platform, planned->plan, choices.simulation, settings);
  }
  return row;
}

Answer run(const Options& options, const Settings& settings) {
  const Choices choices = read_choices(options);
  const auto speeds = read_speed_options(options.platform.speeds);
  std::vector<Comparison> comparisons;
  for (const std::string& model : options.models) {
    Comparison comparison{load_inputs(model, options.platform.platform, speeds), {}};
    for (const PlannerInfo* planner : choices.planners) {
      comparison.rows.push_back(compare_one(*planner, comparison.inputs, choices, settings));
    }
    comparisons.push_back(std::move(comparison));
  }
  const bool any_ran = std::ranges::any_of(comparisons, [](const Comparison& comparison) {
    return std::ranges::any_of(comparison.rows, &ComparisonRow::has_run);
  });
  return {.text = comparison_text(comparisons, settings.timings),
          .json = to_json(comparison_record(comparisons, settings.timings)),
          .code = any_ran ? ExitCode::Done : ExitCode::No};
}

VerbAction configure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("--model", options->models, "a model: a file, or the name of a shipped one; may be repeated")
      ->required()
      ->allow_extra_args(false);
  add_platform_options(command, options->platform);
  command.add_option("--planners", options->planners, "A,B,...: who plans; default: all");
  add_planning_options(command, options->planning);
  command.add_option("--set", options->set, "PLANNER.KEY=VALUE: an option of a planner; may be repeated")
      ->allow_extra_args(false);
  add_simulation_options(command, options->simulation);
  return [options](const Settings& settings) { return run(*options, settings); };
}

}  // namespace

const Verb compare_verb{
    .name = "compare",
    .summary = "plan with several planners, carry out each plan, print one table",
    .configure = configure,
};

}  // namespace stagecraft
