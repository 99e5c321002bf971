#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_output.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/chosen_degrees.hpp"
#include "experiments/run/external_planner.hpp"
#include "experiments/run/planning.hpp"
#include "experiments/run/set_option.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/view/plan_view.hpp"
#include "experiments/view/rates_view.hpp"
#include "sim/io/json.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

struct PlanOptions {
  InputOptions inputs;
  PlanningOptions planning;
  std::string planner;
  bool despite_memory = false;
  std::optional<std::string> output;
};

Answer answer_plan(const PlanOptions& options, const Settings& settings) {
  const std::shared_ptr<const PlannerInfo> planner =
      resolve_planner(options.planner, read_external_options(options.planning));
  const SetValues set = read_set_option(options.inputs.set, {planner});
  PlanningChoices choices = choices_of(*planner, read_planning_choices(options.planning), set);
  refuse_overwriting(options.output, OutputKind::PlanFile, {options.inputs.model, options.inputs.platform.platform});
  const Inputs inputs = load_inputs(options.inputs, set.overrides, settings);
  Planning planning = plan_at_chosen_degrees(*planner, inputs, choices, settings.say);
  if (!planning.program && options.despite_memory) {
    settings.say("note: " + std::get<Infeasible>(planning.result).reason +
                 "; this is the plan for devices with more memory");
    choices.microbatch_size = planning.graph.microbatch_size;
    choices.degrees = planning.graph.degrees;
    planning = plan_despite_memory(*planner, inputs, choices, settings.say);
  }
  tell_plan(planning, inputs.platform, settings.say);
  Report report;
  if (planning.program) {
    refuse_run_length(choices.run_length, planning.program->synchronous);
    report = evaluate_planning(planning, inputs.platform, choices.run_length);
  }
  const bool fits = planning.program && !(options.despite_memory && report.out_of_memory());
  Detail::Record record = planning_record(planning, report.figures(), inputs.platform, settings.timings);
  if (planning.program && !fits) {
    std::ranges::find(record, "outcome", [](const auto& entry) { return entry.first; })->second = "out_of_memory";
  }
  if (planning.program) {
    record.emplace_back("throughput_samples_per_s", report.throughput);
    for (auto& entry : rates_record(work_rates(planning.graph, inputs.platform, report))) {
      record.push_back(std::move(entry));
    }
  }
  Answer answer{.text = planning_text(planning, report, inputs.platform, settings.timings),
                .json = to_json(record),
                .code = fits ? ExitCode::Done : ExitCode::No};
  return with_plan_written(options.output, planning, inputs.platform, settings, std::move(answer));
}

VerbAction configure_plan(CLI::App& command) {
  auto options = std::make_shared<PlanOptions>();
  add_input_options(command, options->inputs);
  add_required(command, "--planner", options->planner,
               "planner to use, a name from 'stagecraft list planners', or exec:PATH for a program of your own");
  add_planning_options(command, options->planning);
  add_set_option(command, options->inputs.set, SetUse::Planners);
  add_flag(command, "--despite-memory", options->despite_memory,
           "if no plan fits, make the one for devices with as much memory as it needs");
  add_option(command, "-o,--output", options->output, "write the plan to this file, as JSON if its name ends in .json");
  return [options](const Settings& settings) { return answer_plan(*options, settings); };
}

}  // namespace

const Verb plan_verb{
    .name = "plan",
    .summary = "make a plan with one planner; print the plan, its claim and its evaluation",
    .configure = configure_plan,
    .examples = {"stagecraft plan --model vgg16 --platform dgx-1-v100 --planner spp -o plan.yaml",
                 "stagecraft plan --model bert-large --platform dgx-a100 --planner gpipe --set stages=4"},
};

}  // namespace stagecraft
