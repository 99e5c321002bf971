#include "experiments/commands/add_option.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/chosen_size.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/sensitivity.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/view/comparison.hpp"
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct CompareOptions {
  std::vector<std::string> models;
  PlatformOptions platform;
  std::optional<std::string> planners;
  PlanningOptions planning;
  SimulationOptions simulation;
  std::vector<std::string> set;
  bool vary = false;
};

/// The choices that are the same for every planner and model.
struct CompareChoices {
  UsedPlanners planners;
  PlanningChoices planning;
  SimulationChoices simulation;
  SetValues set;
  bool vary = false;
};

UsedPlanners read_planners(const std::optional<std::string>& text, const ExternalCalls& calls) {
  UsedPlanners planners;
  if (!text) {
    for (const PlannerInfo* each : all_planners()) {
      if (!each->only_by_name) planners.push_back(resolve_planner(each->name));
    }
    return planners;
  }
  for (const std::string& name : read_list_option("--planners", *text)) {
    if (std::ranges::any_of(planners, [&](const auto& each) { return each->name == name; })) {
      throw InputError(quote(name) + " is given twice", {"", 0, 0, "--planners"});
    }
    planners.push_back(resolve_planner(name, calls));
  }
  return planners;
}

PlanningChoices choices_for(const PlannerInfo& planner, const CompareChoices& choices) {
  return choices_of(planner, choices.planning, choices.set);
}

CompareChoices read_choices(const CompareOptions& options) {
  CompareChoices choices{
      .planners = read_planners(options.planners, read_external_options(options.planning)),
      .planning = read_planning_choices(options.planning),
      .simulation = read_simulation_choices(options.simulation, read_external_options(options.planning)),
      .set = {},
      .vary = options.vary};
  if (choices.vary && choices.planners.size() < 2) {
    throw InputError("expected at least two --planners, of which one wins, found one", {"", 0, 0, "--vary"});
  }
  choices.planning.iterations = choices.simulation.iterations;
  choices.simulation.run_length = choices.planning.run_length;
  choices.set = read_set_option(options.set, choices.planners);
  return choices;
}

/// Plans with one planner and simulates the plan. If the planner refuses the request, the row says so and the
/// comparison goes on.
ComparisonRow compare_one(const PlannerInfo& planner, const Inputs& inputs, const CompareChoices& choices,
                          const Settings& settings) {
  ComparisonRow row;
  row.planner = &planner;
  try {
    row.planning = plan_at_chosen_size(planner, inputs, choices_for(planner, choices), settings.say);
    if (const auto& program = row.planning->program) {
      const LayerGraph& graph = row.planning->graph;
      row.simulation = simulate_program(graph, inputs.platform, *program, choices.simulation, settings);
      const bool is_same_run = choices.simulation.network == NetworkModel::Platform &&
                               choices.simulation.iterations == 1 && choices.simulation.events.empty() &&
                               !choices.simulation.replan;
      row.evaluated = is_same_run ? row.simulation->evaluated
                                  : evaluate_until_converged(graph, inputs.platform, *program).figures();
    }
  } catch (const InputError& error) {
    row.planning.reset();
    row.refusal = error;
  }
  return row;
}

/// Judges the plans of all rows on varied inputs.
std::optional<Sensitivity> vary_inputs(const Comparison& comparison, const CompareChoices& choices) {
  std::vector<Entrant> contenders;
  std::vector<Standing> standings;
  for (const ComparisonRow& row : comparison.rows) {
    const Plan* plan = row.plan();
    if (plan == nullptr) continue;
    contenders.push_back({row.planner->name, &row.planning->graph, plan});
    standings.push_back({row.outcome(), row.simulation->report.throughput});
  }
  Activity activity("varying the inputs");
  return find_sensitivity(comparison.inputs.platform, contenders, std::move(standings), choices.simulation,
                          [&](std::size_t done, std::size_t total) { activity.count(done, total, "simulations"); });
}

/// Adds a row for each planner.
void compare_planners(Comparison& comparison, const CompareChoices& choices, const Settings& settings) {
  Activity activity("comparing");
  for (const auto& planner : choices.planners) {
    activity.count(comparison.rows.size(), choices.planners.size(), "planners");
    comparison.rows.push_back(compare_one(*planner, comparison.inputs, choices, settings));
  }
}

Comparison compare_all(const std::string& model, const CompareOptions& options, const CompareChoices& choices,
                       const Settings& settings) {
  Comparison comparison;
  comparison.inputs =
      load_inputs(model, options.platform.platform, read_speed_options(options.platform.speeds), choices.set.overrides);
  CompareChoices with_events = choices;
  take_events(options.simulation, comparison.inputs, with_events.simulation, settings);
  std::set<std::string> said;  // several planners may have the same remark
  Settings once = settings;
  once.say = [&](const std::string& text) {
    if (said.insert(text).second) settings.say(text);
  };
  compare_planners(comparison, with_events, once);
  comparison.is_varied = choices.vary;
  if (choices.vary) comparison.sensitivity = vary_inputs(comparison, with_events);
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

/// Every planner refused the request: says why each of them did.
[[noreturn]] void refuse_all(const std::vector<Comparison>& comparisons) {
  const std::vector<ComparisonRow>& rows = comparisons.front().rows;
  if (rows.size() == 1) throw InputError(*rows.front().refusal);
  std::string reasons;
  for (const ComparisonRow& row : rows) {
    reasons += (reasons.empty() ? "" : "; ") + row.planner->name + ": " + row.refusal->what();
  }
  throw InputError("every planner refuses this request: " + reasons);
}

Answer answer_compare(const CompareOptions& options, const Settings& settings) {
  const CompareChoices choices = read_choices(options);
  std::vector<Comparison> comparisons;
  for (const std::string& model : options.models) {
    comparisons.push_back(compare_all(model, options, choices, settings));
    if (comparisons.size() == 1) tell_remarks(comparisons.front().inputs.remarks, settings);
  }
  if (count_rows(comparisons, "refused") == comparisons.size() * choices.planners.size()) {
    refuse_all(comparisons);
  }
  return {.text = comparison_text(comparisons, settings.timings),
          .json = to_json(comparison_record(comparisons, settings.timings)),
          .code = count_rows(comparisons, "ok") > 0 ? ExitCode::Done : ExitCode::No};
}

VerbAction configure_compare(CLI::App& command) {
  auto options = std::make_shared<CompareOptions>();
  add_required_repeated(command, "--model", options->models,
                        "a model: a file, or the name of a shipped one; may be repeated");
  add_platform_options(command, options->platform);
  add_option(command, "--planners", options->planners,
             "A,B,...: planners to compare; exec:PATH for a program of your own; default: all but exhaustive");
  add_planning_options(command, options->planning);
  add_set_option(command, options->set, SetUse::Planners);
  add_simulation_options(command, options->simulation);
  add_flag(command, "--vary", options->vary,
           "simulate the plans on varied inputs too: does the winner survive other bandwidths, speeds, latencies?");
  return [options](const Settings& settings) { return answer_compare(*options, settings); };
}

}  // namespace

const Verb compare_verb{
    .name = "compare",
    .summary = "make plans with several planners, simulate each plan, print one table for each model",
    .configure = configure_compare,
};

}  // namespace stagecraft
