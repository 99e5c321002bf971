#include "experiments/run/judge.hpp"

#include "experiments/run/limits.hpp"
#include "experiments/run/simulation.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/list_transfers.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// Adds a finding for each reason why the schedule cannot run the plan.
void judge_refusals(const ScheduleRefusals& refusals, std::vector<Finding>& findings) {
  for (const ScheduleRefusal& refusal : refusals) {
    const std::string hint = refusal.hint.empty() ? "" : " (" + refusal.hint + ")";
    findings.push_back({"schedule", std::nullopt, refusal.message + hint});
  }
}

/// Adds findings for runs that would need too much memory of this program at one time.
void judge_size(const ScheduleProgram& program, std::vector<Finding>& findings) {
  const Plan& plan = program.kept->plan;
  const std::int64_t computations = 2 * plan.microbatches * static_cast<std::int64_t>(plan.stages.size());
  if (program.at_once && computations > run_limits::kMostAtOnce) {
    findings.push_back({"size", std::nullopt,
                        fmt::format("the schedule makes the order of all {} computations at once, because it is fixed, "
                                    "stages share devices or the order depends on times; at most {} are allowed",
                                    computations, run_limits::kMostAtOnce)});
  }
  const std::int64_t pending = std::accumulate(program.in_flight.begin(), program.in_flight.end(), std::int64_t{0});
  if (pending > run_limits::kMostPending) {
    findings.push_back(
        {"size", std::nullopt,
         fmt::format("the schedule keeps {} microbatches in flight on all stages together; at most {} are "
                     "allowed",
                     pending, run_limits::kMostPending)});
  }
}

/// Adds a finding if the whole run is too large.
void judge_whole(const LayerGraph& graph, const Plan& plan, std::vector<Finding>& findings) {
  if (const auto problem = size_problem(graph, plan, 1)) findings.push_back({"size", std::nullopt, *problem});
}

/// The judgement of a plan that breaks no rule and has a schedule that runs it.
Judgement judge_compiled(const LayerGraph& graph, const Plan& plan, ScheduleProgram program) {
  std::vector<Finding> findings;
  if (plan.pattern && !program.pattern) {
    findings.push_back({"schedule", std::nullopt,
                        "the plan has a pattern, which the schedule " + quote(plan.schedule.name) + " does not run"});
    judge_whole(graph, plan, findings);
  } else {
    findings = judge_program(graph, program);
  }
  if (!findings.empty()) return {std::nullopt, std::move(findings)};
  return {std::move(program), {}};
}

/// Where the actions stand, if the orders are of a table: `they wait at rank 0 step 3, rank 1 step 0`.
std::string steps_text(const GivenOrders& orders, const std::vector<StuckAction>& stuck) {
  constexpr std::size_t kShown = 4;
  if (orders.steps.empty()) return "";
  std::string text;
  for (std::size_t i = 0; i < std::min(stuck.size(), kShown); ++i) {
    const StuckAction& each = stuck[i];
    const auto order = std::ranges::find(orders.schedule.devices, each.device, &DeviceOrder::device);
    const auto action = std::ranges::find(order->actions, each.action);
    const auto rank = static_cast<std::size_t>(order - orders.schedule.devices.begin());
    const auto position = static_cast<std::size_t>(action - order->actions.begin());
    text += fmt::format("{}rank {} step {}", text.empty() ? "they wait at " : ", ", rank, orders.steps[rank][position]);
  }
  return text;
}

/// Adds a finding if the orders deadlock, which only carrying them out can tell.
void judge_progress(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                    const GivenOrders& orders, std::vector<Finding>& findings) {
  LowerOptions options;
  options.literal = orders.schedule;
  try {
    const LoweredRun run = lower(graph, platform, program, options);
    while (run.source.next({})) {
    }
  } catch (const Deadlock& error) {
    const std::string steps = steps_text(orders, error.stuck());
    findings.push_back(
        {"schedule", std::nullopt, error.message(), {}, steps + (steps.empty() ? "" : "; ") + error.hint()});
  } catch (const InputError& error) {
    findings.push_back({"schedule", std::nullopt, error.message()});
  }
}

/// Gives the orders another rule for transfers. Steps of a table are those of orders as the table has them.
void take_rule(const LayerGraph& graph, const Plan& plan, Transfers rule, GivenOrders& orders,
               std::vector<Finding>& findings) {
  try {
    Schedule taken = with_transfers(graph, plan, orders.schedule, rule);
    if (taken.devices != orders.schedule.devices) orders.steps.clear();
    orders.schedule = std::move(taken);
  } catch (const InputError& error) {
    findings.push_back({"schedule", std::nullopt, error.message()});
  }
}

}  // namespace

std::string to_string(const Finding& finding) {
  return InputError(finding.message, finding.place, finding.hint).what();
}

std::optional<std::string> size_problem(const LayerGraph& graph, const Plan& plan, std::int64_t iterations) {
  const double microbatches = static_cast<double>(plan.microbatches);
  const double stages = static_cast<double>(std::max<std::size_t>(plan.stages.size(), 1));
  if (2.0 * microbatches * stages * static_cast<double>(iterations) > run_limits::kMostComputations) {
    return "the run has more than 10^9 computations (2 x microbatches x stages x iterations), which is the limit";
  }
  // An upper bound on the memory of the run, in doubles, so that it cannot overflow: the parameters once for each
  // microbatch, each weight version and each copy of gradients and optimizer state, the stash of all microbatches, and
  // the buffers at all boundaries.
  const LayerTotals sums = totals(graph);
  double boundaries = static_cast<double>(graph.input.value());
  for (const LayerEdge& edge : graph.edges) boundaries += static_cast<double>(edge.bytes.value());
  std::int64_t versions = 1;
  for (const Stage& stage : plan.stages) versions = std::max(versions, stage.weight_versions.value_or(1));
  const double copies =
      microbatches + static_cast<double>(versions + plan.training.gradient_copies + plan.training.optimizer_copies);
  const double bytes = copies * static_cast<double>(sums.parameters.value()) +
                       microbatches * static_cast<double>(sums.stash.value()) +
                       static_cast<double>(plan.training.boundary_buffers + 1) * boundaries;
  if (bytes > run_limits::kMostBytes) {
    return "the memory that this run might need, with the stash of all its microbatches, exceeds 1 EiB, which is the "
           "limit; it needs fewer microbatches";
  }
  return std::nullopt;
}

Judgement judge_plan(const LayerGraph& graph, const Platform& platform, const PlanReading& reading) {
  const Activity activity("checking the plan");
  const Plan& plan = reading.plan;
  std::vector<Finding> findings;
  for (const InputError& problem : reading.problems) {
    findings.push_back({"names", std::nullopt, problem.message(), problem.place(), problem.hint()});
  }
  for (const Violation& violation : check_plan(graph, platform, plan)) {
    const auto stage = violation.stage.is_none() ? std::nullopt : std::optional(violation.stage.value());
    findings.push_back({to_string(violation.rule), stage, violation.message});
  }
  const bool is_known = find_family(plan.schedule.name) != nullptr;
  if (!is_known || findings.empty()) {
    Compilation compiled = compile_schedule(graph, platform, plan);
    if (auto* program = std::get_if<ScheduleProgram>(&compiled)) {
      return judge_compiled(graph, plan, std::move(*program));
    }
    judge_refusals(std::get<ScheduleRefusals>(compiled), findings);
  }
  if (!is_known && reading.schedule) findings.back().place = reading.schedule->place();
  judge_whole(graph, plan, findings);
  return {std::nullopt, std::move(findings)};
}

std::vector<Finding> judge_program(const LayerGraph& graph, const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  std::vector<Finding> findings;
  const std::int64_t least = least_microbatches(program, program.kept->replicas);
  if (plan.microbatches < least) {
    findings.push_back(
        {"length", std::nullopt,
         fmt::format(
             "the schedule {} needs at least {} microbatches with this plan to measure its period, but it has {}",
             quote(plan.schedule.name), least, plan.microbatches)});
  }
  judge_size(program, findings);
  judge_whole(graph, plan, findings);
  return findings;
}

std::vector<Finding> judge_orders(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                  GivenOrders& orders, const std::optional<Transfers>& rule) {
  const Activity activity("checking the plan");
  std::vector<Finding> findings;
  for (const std::string& sentence :
       check_schedule(graph, platform, program.kept->plan, orders.schedule, orders.steps)) {
    findings.push_back({"schedule", std::nullopt, sentence});
  }
  if (findings.empty() && rule) take_rule(graph, program.kept->plan, *rule, orders, findings);
  if (findings.empty()) judge_progress(graph, platform, program, orders, findings);
  return findings;
}

std::string prediction_remark(const Plan& plan, bool synchronous) {
  const Figures& predicted = plan.predicted;
  if (headline(predicted) == std::nullopt || (synchronous ? predicted.iteration_time : predicted.period)) return "";
  return "warning: the plan claims " + std::string(synchronous ? "a period" : "an iteration time") +
         ", which is compared with nothing, because a run of the schedule " + quote(plan.schedule.name) + " has " +
         (synchronous ? "an iteration time" : "a period");
}

void refuse_findings(const std::string& path, const std::string& what, const std::vector<Finding>& findings,
                     const std::string& hint) {
  if (findings.empty()) return;
  const std::size_t others = findings.size() - 1;
  const std::string more = others == 0 ? "" : ", and " + std::to_string(others) + " more";
  const Finding& first = findings.front();
  const InputPlace place = first.place.line > 0 ? first.place : InputPlace{path, 0, 0, ""};
  const std::string separator = first.hint.empty() || hint.empty() ? "" : "; ";
  throw InputError(what + ": " + first.message + more, place, first.hint + separator + hint);
}

std::vector<Finding> memory_findings(const Report& report, const Platform& platform) {
  std::vector<Finding> findings;
  for (const MemoryOverflow& overflow : report.overflows) {
    findings.push_back({"memory", std::nullopt,
                        platform.place_name(overflow.place) + " lacks " + format_human_bytes(overflow.excess) + " (" +
                            format_bytes(overflow.excess) + "), first after " + format_human_seconds(overflow.at)});
  }
  return findings;
}

void CapCount::add(const Span& span, const Op& op) {
  if (span.aborted || !is_compute(op.kind) || op.stage.is_none() || !plan_.stages[op.stage.value()].in_flight) return;
  Count& count = counts_[{op.stage, op.from}];
  if (begins_forward(op)) {
    count.peak = std::max(count.peak, ++count.now);
  }
  if (op.closes) --count.now;
}

std::vector<Finding> CapCount::findings(const Platform& platform) const {
  std::vector<Finding> findings;
  for (const auto& [where, count] : counts_) {
    const auto& [stage, place] = where;
    const std::int64_t cap = *plan_.stages[stage.value()].in_flight;
    if (count.peak <= cap) continue;
    findings.push_back({"schedule", stage.value(),
                        fmt::format("{} has {} microbatches of stage {} in flight, more than its cap of {}",
                                    platform.place_name(place), count.peak, stage.value(), cap)});
  }
  return findings;
}

std::vector<Finding> judge_run(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                               const LowerOptions& options) {
  const Activity activity("checking the plan");
  CapCount in_flight(program.kept->plan);
  const auto watch = [&](const Span& span, const Op& op, auto) { in_flight.add(span, op); };
  const Report report = evaluate_program(graph, platform, program, options, {}, watch);
  std::vector<Finding> findings = in_flight.findings(platform);
  const std::vector<Finding> lacking = memory_findings(report, platform);
  findings.insert(findings.end(), lacking.begin(), lacking.end());
  return findings;
}

}  // namespace stagecraft
