#include "experiments/run/largest_size.hpp"

#include "experiments/run/judge.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/size_search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stagecraft {
namespace {

Infeasible because(const Finding& finding) { return {finding.message, {}, finding.stage, Bytes(0), ""}; }

/// What is found about a plan that breaks no rule.
struct FitCheck {
  std::optional<Infeasible> lacking;  ///< why it does not fit, if it does not
  std::optional<Report> replayed;     ///< if that was asked for, and the plan fits as far as can be told without
};

FitCheck check_fit(const Planning& planning, const Platform& platform, const LargestSizeChoices& choices) {
  const Plan& plan = planning.planned()->plan;
  const ScheduleProgram& program = *planning.program;
  const auto peaks = ledger_peaks(planning.graph, platform, program);
  if (auto overflow = memory_overflow(platform, plan, peaks)) return {std::move(overflow), {}};
  FitCheck check;
  std::vector<Finding> findings = judge_run(planning.graph, platform, program);
  if (findings.empty() && choices.replays) {
    check.replayed = size_run(planning, platform, choices, EngineChoice::Replay);
    findings = memory_findings(*check.replayed, platform);
  }
  if (!findings.empty()) check.lacking = because(findings.front());
  return check;
}

std::vector<SizeTry> in_order(const SizeTries& tries) {
  std::vector<SizeTry> tried;
  for (const auto& [size, each] : tries.tried()) tried.push_back(each);
  return tried;
}

}  // namespace

const SizeTry* LargestSize::next() const {
  const auto above = std::ranges::find_if(tried, [&](const SizeTry& each) { return !size || each.size > *size; });
  return above == tried.end() ? nullptr : &*above;
}

SizeTries::Judge size_judge(const Inputs& inputs, const LargestSizeChoices& choices) {
  return [&inputs, &choices](const Planning& planning) -> SizeTries::Verdict {
    FitCheck check = check_fit(planning, inputs.platform, choices);
    if (!check.lacking && choices.on_fit) choices.on_fit(planning, check.replayed);
    return {.lacking = std::move(check.lacking), .merit = static_cast<double>(planning.graph.microbatch_size)};
  };
}

Report size_run(const Planning& planning, const Platform& platform, const LargestSizeChoices& choices,
                EngineChoice engine, const Settings& settings) {
  SimulationChoices simulation;
  simulation.engine = engine;
  simulation.run_length = choices.planning.run_length;
  return simulate_program(planning.graph, platform, *planning.program, simulation, settings).report;
}

LargestSize find_largest_size(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices,
                              const std::function<void(const std::string&)>& say) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  SizeTries tries(planner, inputs, choices.planning, size_judge(inputs, choices));
  const SizeQuestion question{.sizes = sizes_to_choose(choices.planning, run_limits::kMostSizes),
                              .ask = [&](std::int64_t size) { return tries.ask(size); },
                              .surely_fits = quick_test(planner, inputs, choices.planning),
                              .most_asked = choices.most_tries};
  const SizeFound found = largest_size_from(question, inputs.model.profiles.front().microbatch_size);
  const std::optional<std::int64_t> size = tries.best();
  LargestSize largest{.planning = size ? tries.take_best(say) : tries.explain_none(say),
                      .size = size,
                      .tried = in_order(tries),
                      .ended_early = found.ended_early};
  largest.planning.time = Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  return largest;
}

std::string open_sizes_text(const LargestSize& largest) {
  if (!largest.ended_early) return "";
  const std::string tries = "the search ended after " + counted(largest.tried.size(), "size");
  if (!largest.size) return tries + "; smaller ones may fit";
  const SizeTry* next = largest.next();
  if (next == nullptr) return tries + "; larger ones may fit";
  if (next->size == *largest.size + 1) return tries + "; sizes above " + std::to_string(next->size) + " may fit";
  return tries + "; sizes from " + std::to_string(*largest.size + 1) + " to " + std::to_string(next->size - 1) +
         " may fit";
}

}  // namespace stagecraft
