#include "experiments/run/plan_judge.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/report.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

class PlanRuns {
 public:
  PlanRuns(const LayerGraph& graph, const Platform& platform, PlanCompiler compile)
      : graph_(graph),
        platform_(platform),
        compile_(std::move(compile)),
        has_exclusive_links_(std::ranges::count(platform.links, Sharing::Exclusive, &Link::sharing) > 0) {}

  [[nodiscard]] Verdict evaluate(const Plan& plan) const {
    return verdict(plan, [&](const ScheduleProgram& program) {
      BoundFold fold(platform_, program);
      RunWatch watch;
      watch.window = [&](const OpGraph& window) { fold.add(window); };
      const Report report = evaluate_program(graph_, platform_, program, {}, {}, watch);
      Verdict found = verdict_of(report);
      const std::optional<LowerBound> bound = bound_of(program, fold);
      // Where transfers take turns, other turns may be the faster ones.
      if (has_exclusive_links_) found.time = Seconds(0);
      if (bound) found.time = std::max(found.time, bound->time);
      return found;
    });
  }

  [[nodiscard]] Verdict replay(const Plan& plan) const {
    return verdict(plan, [&](const ScheduleProgram& program) {
      return verdict_of(replay_program(graph_, platform_, program).report);
    });
  }

 private:
  static Verdict verdict_of(const Report& report) { return {report.iterations.back(), !report.out_of_memory()}; }

  template <class Run>
  Verdict verdict(const Plan& plan, const Run& run) const {
    try {
      const ScheduleProgram program = compile_(plan);
      if (!check_plan(graph_, platform_, program.kept->plan).empty()) return {kNever, false};
      return run(program);
    } catch (const InputError&) {  // its devices wait for each other, or its schedule refuses it
      return {kNever, false};
    }
  }

  [[nodiscard]] std::optional<LowerBound> bound_of(const ScheduleProgram& program, const BoundFold& fold) const {
    constexpr bool kSharesLinks = true;
    if (!fold.needs_all()) return fold.finish(kSharesLinks);
    return lower_bound(graph_, platform_, program, {LowerOptions(), kSharesLinks});
  }

  const LayerGraph& graph_;
  const Platform& platform_;
  PlanCompiler compile_;
  bool has_exclusive_links_;
};

}  // namespace

Judge judge_of(const LayerGraph& graph, const Platform& platform, PlanCompiler compile) {
  const PlanRuns runs(graph, platform, std::move(compile));
  return {.evaluate = [runs](const Plan& plan) { return runs.evaluate(plan); },
          .replay = [runs](const Plan& plan) { return runs.replay(plan); }};
}

}  // namespace stagecraft
