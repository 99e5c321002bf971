#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/size_comparison.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/largest_size.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/largest_size_view.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

struct MaxBatchOptions {
  InputOptions inputs;
  PlanningOptions planning;
  std::optional<std::string> planner;
  std::optional<std::string> planners;
  std::optional<std::string> tries;
  bool simulate = false;
  bool curve = false;
  std::optional<std::string> output;
};

LargestSizeChoices read_choices(const MaxBatchOptions& options) {
  return {.planning = read_planning_choices(options.planning),
          .most_tries = read_count_option("--tries", options.tries, 1, run_limits::kMostSizes),
          .replays = options.simulate};
}

UsedPlanners read_planners(const MaxBatchOptions& options) {
  if (options.planner.has_value() == options.planners.has_value()) {
    throw InputError(options.planner ? "give --planner or --planners, not both"
                                     : "give the --planner, or several --planners to compare");
  }
  const ExternalCalls calls = read_external_options(options.planning);
  if (options.planners) return read_planners_option(*options.planners, calls);
  return {resolve_planner(*options.planner, calls)};
}

LargestSizeRun run_plan(const LargestSize& largest, const Inputs& inputs, const LargestSizeChoices& choices,
                        const Settings& settings) {
  refuse_run_length(choices.planning.run_length, largest.planning.program->synchronous);
  const auto report_of = [&](EngineChoice engine) {
    return size_run(largest.planning, inputs.platform, choices, engine, settings);
  };
  LargestSizeRun run{.evaluated = report_of(EngineChoice::Evaluate), .replayed = {}};
  if (choices.replays) run.replayed = report_of(EngineChoice::Replay);
  return run;
}

/// Of several planners, or with curves.
Answer answer_sizes(const MaxBatchOptions& options, UsedPlanners planners, const Settings& settings) {
  if (options.output) {
    throw InputError("writes the plan at the size found, which is none of several", {"", 0, 0, "--output"},
                     "name one --planner, without --curve");
  }
  SizeComparisonChoices choices{
      .planners = std::move(planners), .sizes = read_choices(options), .set = {}, .curves = options.curve};
  choices.set = read_set_option(options.inputs.set, choices.planners);
  return compare_sizes(choices, load_inputs(options.inputs, choices.set.overrides, settings), settings);
}

Answer answer_max_batch(const MaxBatchOptions& options, const Settings& settings) {
  UsedPlanners planners = read_planners(options);
  if (options.planners || options.curve) return answer_sizes(options, std::move(planners), settings);
  const PlannerInfo& planner = *planners.front();
  const SetValues set = read_set_option(options.inputs.set, planners);
  LargestSizeChoices choices = read_choices(options);
  choices.planning = choices_of(planner, choices.planning, set);
  refuse_overwriting(options.output, OutputKind::PlanFile, {options.inputs.model, options.inputs.platform.platform});
  const Inputs inputs = load_inputs(options.inputs, set.overrides, settings);
  const LargestSize largest = find_largest_size(planner, inputs, choices, settings.say);
  tell_plan(largest.planning, inputs.platform, settings.say);
  std::optional<LargestSizeRun> run;
  if (largest.size) run = run_plan(largest, inputs, choices, settings);
  Answer answer{.text = largest_size_text(largest, run, inputs.platform, settings.timings),
                .json = to_json(largest_size_record(largest, run, inputs.platform, settings.timings)),
                .code = largest.size ? ExitCode::Done : ExitCode::No};
  return with_plan_written(options.output, largest.planning, inputs.platform, settings, std::move(answer));
}

VerbAction configure_max_batch(CLI::App& command) {
  auto options = std::make_shared<MaxBatchOptions>();
  add_input_options(command, options->inputs);
  add_option(command, "--planner", options->planner,
             "planner to use, a name from 'stagecraft list planners', or exec:PATH for a program of your own");
  add_option(command, "--planners", options->planners, "A,B,...: planners to compare, in place of --planner");
  add_planning_options(command, options->planning, MicrobatchSize::Sought);
  add_set_option(command, options->inputs.set, SetUse::Planners);
  add_option(command, "--tries", options->tries,
             "sizes for which the planner is asked at most; default: as many as the search needs");
  add_flag(
      command, "--curve", options->curve,
      "the samples/s of the plans for microbatches of one sample up to the largest, and the fastest of these sizes");
  add_flag(command, "--simulate", options->simulate,
           "replay the plan of every size that fits; a size whose replay runs out of memory does not fit");
  add_option(command, "-o,--output", options->output,
             "write the plan at the size found to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_max_batch(*options, settings); };
}

}  // namespace

const Verb max_batch_verb{
    .name = "max-batch",
    .summary = "find the largest microbatch size with which a planner finds a plan that fits in memory",
    .configure = configure_max_batch,
    .examples = {"stagecraft max-batch --model bert-large --platform dgx-a100 --planner gpipe"},
};

}  // namespace stagecraft
