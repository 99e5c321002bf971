#include "experiments/run/largest_size.hpp"

#include "experiments/run/judge.hpp"
#include "experiments/run/limits.hpp"
#include "experiments/run/simulation.hpp"
#include "experiments/run/size_search.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/base/counted.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace stagecraft {
namespace {

Infeasible because(const Finding& finding) { return {finding.message, {}, finding.stage, Bytes(0), ""}; }

/// Why a plan that breaks no rule does not fit, if it does not.
std::optional<Infeasible> lacking_of(const Planning& planning, const Platform& platform,
                                     const LargestSizeChoices& choices) {
  const Plan& plan = planning.planned()->plan;
  const ScheduleProgram& program = *planning.program;
  const auto peaks = ledger_peaks(planning.graph, platform, program);
  if (auto overflow = memory_overflow(platform, plan, peaks)) return overflow;
  std::vector<Finding> findings = judge_run(planning.graph, platform, program);
  if (findings.empty() && choices.replays) {
    SimulationChoices replay;
    replay.run_length = choices.planning.run_length;
    findings = memory_findings(simulate_program(planning.graph, platform, program, replay, {}).report, platform);
  }
  return findings.empty() ? std::nullopt : std::optional(because(findings.front()));
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

LargestSize find_largest_size(const PlannerInfo& planner, const Inputs& inputs, const LargestSizeChoices& choices,
                              const std::function<void(const std::string&)>& say) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  SizeTries tries(planner, inputs, choices.planning, [&](const Planning& planning) -> SizeTries::Verdict {
    return {.lacking = lacking_of(planning, inputs.platform, choices),
            .merit = static_cast<double>(planning.graph.microbatch_size)};
  });
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
