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
#include <iterator>
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
  std::vector<const PlannerInfo*> planners;
  if (!text) {
    std::ranges::copy_if(all_planners(), std::back_inserter(planners), [](auto* each) { return !each->only_by_name; });
    return planners;
  }
  for (const std::string& name : read_list_option("--planners", *text)) {
    const PlannerInfo* planner = &find_planner(name);
    if (std::ranges::find(planners, planner) != planners.end()) {
      throw InputError(quote(name) + " is given twice", {"", 0, 0, "--planners"});
    }
    planners.push_back(planner);
  }
  return planners;
}

PlanningChoices choices_for(const PlannerInfo& planner, const Choices& choices) {
  PlanningChoices planning = choices.planning;
  for (const auto& [name, option] : choices.set) {
    if (name == planner.name) planning.options.push_back(option);
  }
  return planning;
}

Choices read_choices(const Options& options) {
  Choices choices{.planners = read_planners(options.planners),
                  .planning = read_planning_choices(options.planning),
                  .simulation = read_simulation_choices(options.simulation),
                  .set = {}};
  choices.planning.iterations = choices.simulation.iterations;
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
  for (const PlannerInfo* planner : choices.planners) {  // mistyped options are no row
    static_cast<void>(parse_options(*planner, choices_for(*planner, choices).options));
  }
  return choices;
}

/// A planner that does not take the request does not end the comparison.
ComparisonRow compare_one(const PlannerInfo& planner, const Inputs& inputs, const Choices& choices,
                          const Settings& settings) {
  ComparisonRow row{.planner = &planner, .planning = std::nullopt, .simulation = std::nullopt, .refusal = std::nullopt};
  try {
    row.planning = make_plan(planner, inputs, choices_for(planner, choices), settings.say);
    if (const Plan* plan = row.plan()) {
      row.simulation = simulate_plan(row.planning->graph, inputs.platform, *plan, choices.simulation, settings);
    }
  } catch (const InputError& error) {
    row.planning.reset();
    row.refusal = error;
  }
  return row;
}

Comparison compare_all(const std::string& model, const Options& options, const Choices& choices,
                       const Settings& settings) {
  Comparison comparison;
  comparison.inputs = load_inputs(model, options.platform.platform, read_speed_options(options.platform.speeds));
  comparison.microbatch_size =
      choices.planning.microbatch_size.value_or(comparison.inputs.model.profiles.front().microbatch_size);
  for (const PlannerInfo* planner : choices.planners) {
    comparison.rows.push_back(compare_one(*planner, comparison.inputs, choices, settings));
  }
  return comparison;
}

std::size_t count_rows(const std::vector<Comparison>& comparisons, const std::string& outcome) {
  std::size_t count = 0;
  for (const Comparison& comparison : comparisons) {
    for (const ComparisonRow& row : comparison.rows) {
      if (row.outcome() == outcome) ++count;
    }
  }
  return count;
}

Answer run(const Options& options, const Settings& settings) {
  const Choices choices = read_choices(options);
  std::vector<Comparison> comparisons;
  for (const std::string& model : options.models) {
    comparisons.push_back(compare_all(model, options, choices, settings));
  }
  if (count_rows(comparisons, "refused") == comparisons.size() * choices.planners.size()) {
    throw InputError(*comparisons.front().rows.front().refusal);
  }
  return {.text = comparison_text(comparisons, settings.timings),
          .json = to_json(comparison_record(comparisons, settings.timings)),
          .code = count_rows(comparisons, "ok") > 0 ? ExitCode::Done : ExitCode::No};
}

VerbAction configure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("--model", options->models, "a model: a file, or the name of a shipped one; may be repeated")
      ->required()
      ->allow_extra_args(false);
  add_platform_options(command, options->platform);
  command.add_option("--planners", options->planners, "A,B,...: who plans; default: all but exhaustive");
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
