#include "experiments/commands/add_option.hpp"
#include "experiments/commands/plan_inputs.hpp"
#include "experiments/commands/simulated_run.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/judge.hpp"
#include "experiments/run/order_file.hpp"
#include "experiments/run/plan_input.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <memory>

namespace stagecraft {
namespace {

struct CheckOptions {
  PlanInputOptions inputs;
  OrderOptions orders;
  std::string plan;
};

Detail::Record finding_record(const Finding& finding) {
  return {{"rule", finding.rule},
          {"stage", finding.stage ? Detail(std::int64_t{*finding.stage}) : Detail()},
          {"message", to_string(finding)}};
}

/// What a plan swaps is on the device for longer where copies meet other transfers, so no rule tells whether it fits.
std::string fitting_text(const Plan& plan) {
  const auto copies = [](const Stage& stage) { return std::ranges::any_of(stage.memory, swaps); };
  return std::string("breaks no rule and fits in memory") +
         (std::ranges::any_of(plan.stages, copies)
              ? " where copies to the host meet no other transfers; simulate tells about all of them"
              : "");
}

Answer answer(const std::string& path, const Plan& plan, const std::vector<Finding>& findings) {
  const bool is_fine = findings.empty();
  Detail::List violations;
  std::string text;
  for (const Finding& finding : findings) {
    violations.emplace_back(finding_record(finding));
    text += finding.rule + ": " + to_string(finding) + "\n";
  }
  text += path + ": " + (is_fine ? fitting_text(plan) : counted(findings.size(), "violation")) + "\n";
  Detail::Record record{{"outcome", is_fine ? "ok" : "violations"}, {"violations", std::move(violations)}};
  return {.text = text, .json = to_json(std::move(record)), .code = is_fine ? ExitCode::Done : ExitCode::No};
}

/// Orders that the user gives replace those of the plan's own schedule.
std::vector<Finding> judge(const CheckOptions& options, const Inputs& inputs, PlanInput& input,
                           const Settings& settings) {
  Plan& plan = input.reading.plan;
  if (options.orders.schedule_file) expect_literal_orders(plan);
  LowerOptions lower_options;
  auto [program, findings] = judge_plan(input.graph, inputs.platform, input.reading);
  if (program) {
    const auto orders = given_orders(options.orders, input.graph, inputs.platform, *program, findings);
    if (orders) lower_options.literal = orders->schedule;
  }
  if (!findings.empty()) {
    settings.say("memory is not checked, because the plan cannot be run");
    return findings;
  }
  const std::string remark = prediction_remark(plan, program->synchronous);
  if (!remark.empty()) settings.say(remark);
  return judge_run(input.graph, inputs.platform, *program, lower_options);
}

Answer answer_check(const CheckOptions& options, const Settings& settings) {
  const PlanFiles files = read_plan_files(options.plan, options.inputs);
  const Inputs inputs = load_inputs(files.inputs, settings);
  PlanInput input = parse_plan_input(files.plan, inputs, settings.say);
  const std::vector<Finding> findings = judge(options, inputs, input, settings);
  return answer(options.plan, input.reading.plan, findings);
}

VerbAction configure_check(CLI::App& command) {
  auto options = std::make_shared<CheckOptions>();
  add_required(command, "PLAN", options->plan, "plan file, YAML or JSON");
  add_plan_input_options(command, options->inputs);
  add_order_options(command, options->orders);
  return [options](const Settings& settings) { return answer_check(*options, settings); };
}

}  // namespace

const Verb check_verb{
    .name = "check",
    .summary = "check a plan: list every rule that it breaks, and whether it fits in memory",
    .configure = configure_check,
    .examples = {"stagecraft check plan.yaml"},
};

}  // namespace stagecraft
