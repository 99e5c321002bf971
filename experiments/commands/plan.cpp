#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/commands/search_option.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/plan_ladder.hpp"
#include "experiments/run/plan_search.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/result_so_far.hpp"
#include "experiments/run/search_axes.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/cost_view.hpp"
#include "experiments/view/ladder_view.hpp"
#include "experiments/view/plan_search_view.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/rates_view.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

struct PlanOptions {
  InputOptions inputs;
  PlanningOptions planning;
  std::string planner;
  std::optional<std::string> search;
  bool despite_memory = false;
  std::optional<std::string> output;
};

/// The plan for the user's choices, or for the best of what a search tried.
struct FoundPlan {
  PlanningChoices choices;
  std::vector<SearchAxis> axes;
  std::optional<PlanSearch> search;  ///< without the answer for the best
  Planning planning;
};

/// What `--json` shows of a search that was interrupted.
Detail::Record unfinished_record(const std::vector<PlanTry>& tries, const std::vector<SearchAxis>& axes,
                                 const Platform& platform) {
  return {{"complete", false}, {"search", search_list(tries, axes, platform)}};
}

FoundPlan find_plan(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                    const SearchSpace& space, const std::optional<std::string>& output, const Settings& settings) {
  FoundPlan found{.choices = choices, .axes = space.axes, .search = {}, .planning = {}};
  if (found.axes.empty()) {
    found.planning = plan_at_chosen_degrees(planner, inputs, choices, settings.say);
    found.choices.microbatch_size = found.planning.graph.microbatch_size;
    found.choices.degrees = found.planning.graph.degrees;
    return found;
  }
  const std::vector<PlanningChoices> combinations = combinations_of(space, inputs, choices, settings.say);
  using Clock = std::chrono::steady_clock;
  ResultSoFar so_far;
  Clock::time_point next;  // not after each of many quick tries: all rows are written anew
  const auto on_try = [&](const std::vector<PlanTry>& tries) {
    if (Clock::now() < next) return;
    next = Clock::now() + std::chrono::seconds(1);
    so_far.set(settings.json ? to_json(unfinished_record(tries, found.axes, inputs.platform)) + "\n"
                             : search_text(tries, found.axes, inputs.platform));
  };
  const auto on_best = [&](const Planning& planning) {
    if (names_file(output)) {
      write_plan(*output, planning.planned()->plan, planning.graph, inputs.platform);
    }
  };
  found.search = search_plans(
      planner, inputs, combinations,
      {.activity = "searching for the fastest plan", .on_try = on_try, .on_best = on_best, .say = settings.say});
  found.choices = found.search->tries.front().choices;
  found.planning = std::move(found.search->planning);
  return found;
}

/// The same for devices with enough memory.
void plan_with_more_memory(const PlannerInfo& planner, const Inputs& inputs, FoundPlan& found,
                           const Settings& settings) {
  const Infeasible none = std::get<Infeasible>(found.planning.result);
  std::vector<std::string> notes;  // on the plan, which the user reads about first
  const auto on_note = [&](const std::string& note) { notes.push_back(note); };
  DespiteMemory despite = plan_despite_memory(planner, inputs, found.choices, none, on_note);
  const std::string with =
      despite.memory ? format_enough_bytes(*despite.memory) + ", the least with which " + planner.name + " has one"
                     : "as much memory as it wants; another may lack less";
  settings.say("note: " + none.reason + "; this is the plan for devices with " + with);
  for (const std::string& note : notes) settings.say(note);
  found.planning = std::move(despite.planning);
}

/// None where there is no plan, or not one that the bounds are for.
std::optional<PlanLadder> ladder_of(const Planning& planning, const Report& report, const Platform& platform) {
  if (!planning.program || !planning.program->synchronous || report.out_of_memory()) return std::nullopt;
  constexpr bool kSharesLinks = false;
  const auto own = [&] {
    return lower_bound(planning.graph, platform, *planning.program, {LowerOptions(), kSharesLinks});
  };
  return plan_ladder(planning.graph, platform, *planning.program, report.iterations.back(), own, kSharesLinks);
}

Detail::Record record_of(const FoundPlan& found, const Report& report, const Platform& platform,
                         const std::optional<PlanLadder>& ladder, bool fits, bool timings) {
  const Planning& planning = found.planning;
  Detail::Record record = planning_record(planning, report.figures(), platform, timings);
  if (planning.program && !fits) {
    std::ranges::find(record, "outcome", [](const auto& entry) { return entry.first; })->second = "out_of_memory";
  }
  if (planning.program) {
    record.emplace_back("throughput_samples_per_s", report.throughput);
    const WorkRates rates = work_rates(planning.graph, platform, report);
    for (auto& entry : rates_record(rates)) record.push_back(std::move(entry));
    for (auto& entry : cost_record(run_cost(platform, report, rates))) record.push_back(std::move(entry));
    record.emplace_back("least_possible", ladder ? Detail(ladder_record(*ladder)) : Detail());
  }
  if (found.search) record.emplace_back("search", search_list(found.search->tries, found.axes, platform));
  return record;
}

Answer answer_plan(const PlanOptions& options, const Settings& settings) {
  const std::shared_ptr<const PlannerInfo> planner =
      resolve_planner(options.planner, read_external_options(options.planning));
  const SetValues set = read_set_option(options.inputs.set, {planner});
  PlanningOptions given = options.planning;
  const SearchSpace space = read_search_space(options.search, options.planning);
  given.groups.searched = space.axes;
  const PlanningChoices choices = choices_of(*planner, read_planning_choices(given), set);
  refuse_overwriting(options.output, OutputKind::PlanFile, {options.inputs.model, options.inputs.platform.platform});
  const Inputs inputs = load_inputs(options.inputs, set.overrides, settings);
  FoundPlan found = find_plan(*planner, inputs, choices, space, options.output, settings);
  if (!found.planning.program && options.despite_memory) plan_with_more_memory(*planner, inputs, found, settings);
  const Planning& planning = found.planning;
  tell_plan(planning, inputs.platform, settings.say);
  Report report;
  if (planning.program) {
    refuse_run_length(choices.run_length, planning.program->synchronous);
    report = evaluate_planning(planning, inputs.platform, choices.run_length);
  }
  const bool fits = planning.program && !(options.despite_memory && report.out_of_memory());
  const std::optional<PlanLadder> ladder = ladder_of(planning, report, inputs.platform);
  Answer answer{.text = planning_text(planning, report, inputs.platform, settings.timings) +
                        (ladder ? "\n" + ladder_text(*ladder, inputs.platform) : ""),
                .json = to_json(record_of(found, report, inputs.platform, ladder, fits, settings.timings)),
                .code = fits ? ExitCode::Done : ExitCode::No};
  if (found.search) answer.text += "\n" + search_text(found.search->tries, found.axes, inputs.platform);
  return with_plan_written(options.output, planning, inputs.platform, settings, std::move(answer));
}

VerbAction configure_plan(CLI::App& command) {
  auto options = std::make_shared<PlanOptions>();
  add_input_options(command, options->inputs);
  add_required(command, "--planner", options->planner,
               "planner to use, a name from 'stagecraft list planners', or exec:PATH for a program of your own");
  add_planning_options(command, options->planning);
  add_option(command, "--search", options->search,
             "AXIS,...: plan with all values of these (tensor=2:8: with those from 2 to 8), and take the plan with the "
             "most samples/s without contention: "
             "tensor, context, expert, zero, memory (keep or recompute; also called recompute), microbatch_size");
  add_set_option(command, options->inputs.set, SetUse::Planners);
  add_flag(command, "--despite-memory", options->despite_memory,
           "if no plan fits, make the one for devices with the least memory with which there is one");
  add_option(command, "-o,--output", options->output, "write the plan to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_plan(*options, settings); };
}

}  // namespace

const Verb plan_verb{
    .name = "plan",
    .summary = "make a plan with one planner; print the plan, its claim and its evaluation",
    .configure = configure_plan,
    .examples = {"stagecraft plan --model vgg16 --platform dgx-1-v100 --planner spp -o plan.yaml",
                 "stagecraft plan --model bert-large --platform dgx-a100 --planner gpipe --set stages=4",
                 "stagecraft plan --model llama3-8b --platform dgx-h100 --planner uniform --search tensor,zero"},
};

}  // namespace stagecraft
