#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/judge.hpp"
#include "experiments/plan_input.hpp"
#include "experiments/report/simulation_record.hpp"
#include "experiments/report/simulation_text.hpp"
#include "experiments/simulation.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace stagecraft {
namespace {

struct Options {
  InputOptions inputs;
  SimulationOptions simulation;
  std::string plan;
};

void refuse_findings(const std::string& path, const std::vector<Finding>& findings) {
  if (findings.empty()) return;
  const std::size_t others = findings.size() - 1;
  const std::string more = others == 0 ? "" : ", and " + std::to_string(others) + " more";
  throw InputError("the plan breaks a rule: " + findings.front().message + more, {path, 0, 0, ""},
                   "stagecraft check lists every violation");
}

Answer run(const Options& options, const Settings& settings) {
  const SimulationChoices choices = read_simulation_choices(options.simulation);
  const Inputs inputs = load_inputs(options.inputs);
  const PlanInput input = load_plan(options.plan, inputs, settings.say);
  refuse_findings(options.plan, judge_plan(input.graph, inputs.platform, input.reading));
  const Plan& plan = input.reading.plan;
  const Simulation simulation = simulate_plan(input.graph, inputs.platform, plan, choices, settings);
  return {.text = simulation_text(simulation, plan, inputs.platform, settings.timings),
          .json = to_json(simulation_record(simulation, plan, inputs.platform, settings.timings)),
          .code = simulation.report.out_of_memory() ? ExitCode::No : ExitCode::Done};
}

VerbAction configure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->plan, "the plan, YAML or JSON")->required();
  add_input_options(command, options->inputs);
  add_simulation_options(command, options->simulation);
  return [options](const Settings& settings) { return run(*options, settings); };
}

}  // namespace

const Verb simulate_verb{
    .name = "simulate",
    .summary = "carry out a plan and report where the time and the memory went",
    .configure = configure,
};

}  // namespace stagecraft
