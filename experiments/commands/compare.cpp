#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_folder.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/simulated_run.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/order_file.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/progress.hpp"
#include "experiments/run/result_so_far.hpp"
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
#include "sim/schedule/schedule_family.hpp"

#include <fmt/ranges.h>

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
  ComputedOptions computed;
  PlatformOptions platform;
  std::optional<std::string> planners;
  std::optional<std::string> schedules;
  PlanningOptions planning;
  SimulationOptions simulation;
  OrderOptions orders;
  std::vector<std::string> set;
  std::optional<std::string> save;
  bool vary = false;
  bool wide = false;
};

/// The choices that are the same for every model.
struct CompareChoices {
  UsedPlanners planners;
  std::vector<ScheduleChoice> schedules;  ///< that every planner is asked for; empty: that of `planning`, or its own
  PlanningChoices planning;
  SimulationChoices simulation;
  SetValues set;
  bool vary = false;
  bool with_ladders = false;  ///< whether what is shown has `Simulation::ladder`
};

UsedPlanners read_planners(const std::optional<std::string>& text, const ExternalCalls& calls) {
  if (text) return read_planners_option(*text, calls);
  UsedPlanners planners;
  for (const PlannerInfo* each : all_planners()) {
    if (!each->only_by_name) planners.push_back(resolve_planner(each->name));
  }
  return planners;
}

std::vector<ScheduleChoice> read_schedules(const CompareOptions& options) {
  if (!options.schedules) return {};
  if (options.planning.schedule) {
    throw InputError("give --schedule or --schedules, not both", {}, "--schedules takes one too");
  }
  std::vector<ScheduleChoice> schedules = read_schedules_option("--schedules", *options.schedules);
  for (const ScheduleChoice& each : schedules) (void)schedule_parameters(each);  // refuses what is wrong with it
  return schedules;
}

/// The rows of every model, which have no answer yet: each planner with each schedule.
std::vector<ComparisonRow> questions_of(const CompareChoices& choices) {
  std::vector<ComparisonRow> questions;
  for (const auto& planner : choices.planners) {
    for (const ScheduleChoice& schedule : choices.schedules) {
      questions.emplace_back().planner = planner.get();
      questions.back().schedule = schedule;
    }
    if (choices.schedules.empty()) questions.emplace_back().planner = planner.get();
  }
  return questions;
}

std::vector<std::string> names_of(const std::vector<ComparisonRow>& rows) {
  std::vector<std::string> names;
  for (const ComparisonRow& row : rows) names.push_back(row.name());
  return names;
}

PlanningChoices choices_for(const ComparisonRow& row, const CompareChoices& choices) {
  PlanningChoices planning = choices_of(*row.planner, choices.planning, choices.set);
  if (row.schedule) planning.schedule = row.schedule;
  return planning;
}

/// Names the row where a remark on its plan begins with the name of its planner.
std::string naming_row(const std::string& remark, const ComparisonRow& row) {
  const std::string begins = "note: " + row.planner->name + ": ";
  return remark.starts_with(begins) ? "note: " + row.name() + ": " + remark.substr(begins.size()) : remark;
}

CompareChoices read_choices(const CompareOptions& options) {
  CompareChoices choices{
      .planners = read_planners(options.planners, read_external_options(options.planning)),
      .schedules = read_schedules(options),
      .planning = read_planning_choices(options.planning),
      .simulation = read_simulation_choices(options.simulation, read_external_options(options.planning)),
      .set = {},
      .vary = options.vary};
  if (choices.vary && questions_of(choices).size() < 2) {
    throw InputError("expected at least two --planners, of which one wins, found one", {"", 0, 0, "--vary"},
                     "or two --schedules");
  }
  refuse_changed_orders(options.orders, choices.simulation.replan.has_value());
  choices.simulation.transfers = read_sends_option(options.orders.transfers);
  choices.planning.iterations = choices.simulation.iterations;
  choices.simulation.run_length = choices.planning.run_length;
  choices.set = read_set_option(options.set, choices.planners);
  return choices;
}

/// Plans with the planner of a row and simulates the plan. If the planner refuses the request, or the plan cannot run
/// with the rule for transfers, the row says so and the comparison goes on.
ComparisonRow compare_one(ComparisonRow row, const Inputs& inputs, const CompareChoices& choices,
                          const Settings& settings) {
  const auto say = [&](const std::string& remark) { settings.say(naming_row(remark, row)); };
  try {
    row.planning = plan_at_chosen_degrees(*row.planner, inputs, choices_for(row, choices), say);
    if (const auto& program = row.planning->program) {
      const LayerGraph& graph = row.planning->graph;
      row.simulation = simulate_program(graph, inputs.platform, *program, choices.simulation, settings);
      if (choices.with_ladders)
        row.simulation->ladder = simulated_ladder(graph, inputs.platform, *program, *row.simulation);
      const bool is_same_run = choices.simulation.network == NetworkModel::Platform &&
                               choices.simulation.iterations == 1 && choices.simulation.events.empty() &&
                               !choices.simulation.replan && !choices.simulation.transfers;
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
    contenders.push_back({row.name(), &row.planning->graph, plan});
    standings.push_back({row.outcome(), row.simulation->report.throughput});
  }
  Activity activity("varying the inputs");
  return find_sensitivity(comparison.inputs.platform, contenders, std::move(standings), choices.simulation,
                          [&](std::size_t done, std::size_t total) { activity.count(done, total, "simulations"); });
}

std::string name_of(const Comparison& comparison) { return comparison.inputs.model.profiles.front().name; }

/// Comparisons whose rows come one after another. An interrupt prints those that are done; if they take long, each is
/// also told as soon as it is done.
class RowsAsTheyCome {
 public:
  RowsAsTheyCome(std::vector<Comparison>& comparisons, const CompareOptions& options, const CompareChoices& choices,
                 const Settings& settings)
      : comparisons_(comparisons), choice_{options.wide, settings.timings}, settings_(settings) {
    std::vector<std::string> models;
    for (const Comparison& comparison : comparisons) models.push_back(name_of(comparison));
    if (options.save) folder_.emplace(*options.save, models, names_of(questions_of(choices)));
  }

  /// Adds a row for each planner and schedule to one of the comparisons.
  void compare(Comparison& comparison, const CompareChoices& choices, const Settings& settings) {
    Activity activity("comparing");
    for (const ComparisonRow& question : questions_of(choices)) {
      activity.count(comparison.rows.size(), comparison.expected, "rows");
      add(comparison, compare_one(question, comparison.inputs, choices, settings));
    }
  }

  [[nodiscard]] std::string text() const {
    return comparison_text(comparisons_, choice_) + (folder_ ? "plans are in " + folder_->path() + "\n" : "");
  }
  /// Whether the plan of a row could not be kept.
  [[nodiscard]] bool has_lost_plans() const { return has_lost_plans_; }
  [[nodiscard]] std::string json() const { return to_json(comparison_record(comparisons_)); }

 private:
  std::vector<Comparison>& comparisons_;
  RowChoice choice_;
  const Settings& settings_;
  std::optional<PlanFolder> folder_;
  ResultSoFar so_far_;
  std::vector<std::string> untold_;
  bool has_lost_plans_ = false;

  /// Keeps the plan of the row. If that is not possible, as on a full disk, the comparison goes on.
  void keep(const Comparison& comparison, ComparisonRow& row) {
    try {
      row.file = folder_->keep(name_of(comparison), row.name(), *row.planning, comparison.inputs.platform);
    } catch (const InputError& error) {
      settings_.say("error: the plan of " + row.name() + " is not kept: " + error.what());
      has_lost_plans_ = true;
    }
  }

  void add(Comparison& comparison, ComparisonRow row) {
    if (folder_ && row.plan() != nullptr) keep(comparison, row);
    if (settings_.json) row.record = row_record(row, comparison.inputs, settings_.timings);
    untold_.push_back((comparisons_.size() > 1 ? name_of(comparison) + ", " : "") + row_line(row));
    comparison.add(std::move(row));
    so_far_.set(settings_.json ? json() + "\n" : text());
    if (!shows_progress()) return;
    for (const std::string& line : untold_) settings_.say(line);
    untold_.clear();
  }
};

/// The models on the platform, without rows.
std::vector<Comparison> load_comparisons(const CompareOptions& options, const CompareChoices& choices) {
  std::vector<Comparison> comparisons;
  const ModelChoice choice = read_computed_options(options.computed);
  for (const std::string& model : options.models) {
    Comparison& comparison = comparisons.emplace_back();
    comparison.inputs = load_inputs(model, options.platform.platform, read_speed_options(options.platform.speeds),
                                    choices.set.overrides, choice);
    comparison.expected = questions_of(choices).size();
    comparison.names_schedules = !choices.schedules.empty();
    comparison.transfers = choices.simulation.transfers;
  }
  return comparisons;
}

/// The remarks on the models and the platform, each once.
std::vector<std::string> remarks_on(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> remarks;
  for (const Comparison& comparison : comparisons) {
    for (const std::string& remark : comparison.inputs.remarks) {
      if (std::ranges::find(remarks, remark) == remarks.end()) remarks.push_back(remark);
    }
  }
  return remarks;
}

void compare_all(Comparison& comparison, RowsAsTheyCome& rows, const CompareOptions& options,
                 const CompareChoices& choices, const Settings& settings) {
  CompareChoices with_events = choices;
  take_events(options.simulation, comparison.inputs, with_events.simulation, settings);
  std::set<std::string> said;  // several planners may have the same remark
  Settings once = settings;
  once.say = [&](const std::string& text) {
    if (said.insert(text).second) settings.say(text);
  };
  rows.compare(comparison, with_events, once);
  if (choices.vary) comparison.sensitivity = vary_inputs(comparison, with_events);
  comparison.is_varied = choices.vary;
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
  const std::vector<std::string> reasons = notes_of(comparisons.front());
  if (reasons.size() == 1) throw InputError(*comparisons.front().rows.front().refusal);
  throw InputError(fmt::format("every planner refuses this request: {}", fmt::join(reasons, "; ")));
}

Answer answer_compare(const CompareOptions& options, const Settings& settings) {
  CompareChoices choices = read_choices(options);
  choices.with_ladders = options.wide || settings.json;
  std::vector<Comparison> comparisons = load_comparisons(options, choices);
  tell_remarks(remarks_on(comparisons), settings);
  RowsAsTheyCome rows(comparisons, options, choices, settings);
  for (Comparison& comparison : comparisons) compare_all(comparison, rows, options, choices, settings);
  if (count_rows(comparisons, "refused") == comparisons.size() * comparisons.front().expected) refuse_all(comparisons);
  const ExitCode found = count_rows(comparisons, "ok") > 0 ? ExitCode::Done : ExitCode::No;
  return {.text = rows.text(),
          .json = settings.json ? rows.json() : "",
          .code = rows.has_lost_plans() ? ExitCode::Input : found};
}

VerbAction configure_compare(CLI::App& command) {
  auto options = std::make_shared<CompareOptions>();
  add_required_repeated(
      command, "--model", options->models,
      "a model: a model file, an architecture file or a config.json, or the name of a shipped file or of a "
      "network; may be repeated");
  add_computed_options(command, options->computed);
  add_platform_options(command, options->platform);
  add_option(command, "--planners", options->planners,
             "A,B,...: planners to compare; exec:PATH for a program of your own; default: all but exhaustive and "
             "director");
  add_option(command, "--schedules", options->schedules,
             "S,T,...: ask every planner for each of these, in place of --schedule; parameters follow their schedule: "
             "1f1b,interleaved-1f1b,chunks=4,zb-v");
  add_planning_options(command, options->planning);
  add_set_option(command, options->set, SetUse::Planners);
  add_simulation_options(command, options->simulation);
  add_sends_option(command, options->orders, "eager");
  add_option(command, "--save", options->save,
             "keep each plan in this folder, as PLANNER.yaml or PLANNER-with-SCHEDULE.yaml; with several models in a "
             "folder of each");
  add_flag(command, "--wide", options->wide, "all columns: schedule, microbatches, updates, times and outcome too");
  add_flag(command, "--vary", options->vary,
           "simulate the plans on varied inputs too: does the winner survive other bandwidths, speeds, latencies?");
  return [options](const Settings& settings) { return answer_compare(*options, settings); };
}

}  // namespace

const Verb compare_verb{
    .name = "compare",
    .summary = "make plans with several planners, simulate each plan, and show the best first",
    .configure = configure_compare,
    .examples = {"stagecraft compare --model vgg16 --platform dgx-1-v100",
                 "stagecraft compare --model vgg16 --platform dgx-1-v100 --planners gpipe,spp --global-batch 256",
                 "stagecraft compare --model vgg16 --platform dgx-1-v100 --planners uniform --schedules gpipe,zb-v"},
};

}  // namespace stagecraft
