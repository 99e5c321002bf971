#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/judge.hpp"
#include "experiments/plan_input.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace stagecraft {
namespace {

struct Options {
  InputOptions inputs;
  std::string plan;
};

Detail::Record finding_record(const Finding& finding) {
  return {{"rule", finding.rule},
          {"stage", finding.stage ? Detail(std::int64_t{*finding.stage}) : Detail()},
          {"message", finding.message}};
}

Answer answer(const std::string& path, const std::vector<Finding>& findings) {
  const bool is_fine = findings.empty();
  Detail::List violations;
  std::string text;
  for (const Finding& finding : findings) {
    violations.emplace_back(finding_record(finding));
    text += finding.rule + ": " + finding.message + "\n";
  }
  const std::string count = std::to_string(findings.size()) + (findings.size() == 1 ? " violation" : " violations");
  text += path + ": " + (is_fine ? "breaks no rule and fits in memory" : count) + "\n";
  Detail::Record record{{"outcome", is_fine ? "ok" : "violations"}, {"violations", std::move(violations)}};
  return {.text = text, .json = to_json(std::move(record)), .code = is_fine ? ExitCode::Done : ExitCode::No};
}

Answer run(const Options& options, const Settings& settings) {
  const Inputs inputs = load_inputs(options.inputs);
  const PlanInput plan = load_plan(options.plan, inputs, settings.say);
  std::vector<Finding> findings = judge_plan(plan.graph, inputs.platform, plan.reading);
  if (findings.empty()) {
    const Report report = evaluate_plan(plan.graph, inputs.platform, plan.reading.plan);
    findings = memory_findings(report, inputs.platform);
  } else {
    settings.say("memory is judged once the plan can be run");
  }
  return answer(options.plan, findings);
}

VerbAction configure(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("PLAN", options->plan, "the plan, YAML or JSON")->required();
  add_input_options(command, options->inputs);
  return [options](const Settings& settings) { return run(*options, settings); };
}

}  // namespace

const Verb check_verb{
    .name = "check",
    .summary = "judge a plan, whoever made it: list every rule it breaks",
    .configure = configure,
};

}  // namespace stagecraft
