#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/largest_size.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/largest_size_view.hpp"
#include "sim/base/counted.hpp"
#include "sim/io/json.hpp"

#include <memory>
#include <optional>

namespace stagecraft {
namespace {

struct MaxBatchOptions {
  InputOptions inputs;
  PlanningOptions planning;
  std::string planner;
  std::optional<std::string> tries;
  bool simulate = false;
  std::optional<std::string> output;
};

LargestSizeChoices read_choices(const MaxBatchOptions& options, const PlannerInfo& planner, const SetValues& set) {
  return {.planning = choices_of(planner, read_planning_choices(options.planning), set),
          .most_tries = read_count_option("--tries", options.tries, 1, run_limits::kMostSizes),
          .replays = options.simulate};
}

LargestSizeRun run_plan(const LargestSize& largest, const Inputs& inputs, const LargestSizeChoices& choices,
                        const Settings& settings) {
  const ScheduleProgram& program = *largest.planning.program;
  refuse_run_length(choices.planning.run_length, program.synchronous);
  const auto report_of = [&](EngineChoice engine) {
    SimulationChoices simulation;
    simulation.engine = engine;
    simulation.run_length = choices.planning.run_length;
    return simulate_program(largest.planning.graph, inputs.platform, program, simulation, settings).report;
  };
  LargestSizeRun run{.evaluated = report_of(EngineChoice::Evaluate), .replayed = {}};
  if (choices.replays) run.replayed = report_of(EngineChoice::Replay);
  return run;
}

Answer answer_max_batch(const MaxBatchOptions& options, const Settings& settings) {
  const std::shared_ptr<const PlannerInfo> planner =
      resolve_planner(options.planner, read_external_options(options.planning));
  const SetValues set = read_set_option(options.inputs.set, {planner});
  const LargestSizeChoices choices = read_choices(options, *planner, set);
  refuse_overwriting(options.output, OutputKind::PlanFile, {options.inputs.model, options.inputs.platform.platform});
  const Inputs inputs = load_inputs(options.inputs, set.overrides, settings);
  const LargestSize largest = find_largest_size(*planner, inputs, choices, settings.say);
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
  add_required(command, "--planner", options->planner,
               "planner to use, a name from 'stagecraft list planners', or exec:PATH for a program of your own");
  add_planning_options(command, options->planning, MicrobatchSize::Sought);
  add_set_option(command, options->inputs.set, SetUse::Planners);
  add_option(command, "--tries", options->tries,
             "sizes for which the planner is asked at most; default: as many as the search needs");
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
