#include "sim/analytic/evaluate_plan.hpp"

#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/summary.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <utility>

namespace stagecraft {
namespace {

Report evaluate_run(const Platform& platform, LoweredRun run, const Events& events, const SpanSink& watch) {
  Summary summary(platform, run.measurement, evaluates_in_start_order(platform, run.source, events));
  evaluate(platform, announced_to(summary, std::move(run.source)), events,
           [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
             summary.add(span, op, deltas);
             if (watch) watch(span, op, deltas);
           });
  return summary.finish();
}

}  // namespace

Report evaluate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan, const LowerOptions& options,
                     const Events& events, const SpanSink& watch) {
  return evaluate_run(platform, lower(graph, platform, plan, options), events, watch);
}

Report evaluate_until_converged(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const ScheduleProgram program = require_schedule(graph, platform, plan);
  RunLength length = first_length(program);
  const auto bound = evaluated_period_bound(graph, platform, with_length(plan, length));
  return run_until_converged(program, length, bound, [&](const RunLength& of_run) {
    LowerOptions options;
    options.head = of_run.head;
    return evaluate_plan(graph, platform, with_length(plan, of_run), options);
  });
}

Report evaluate_program(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  return evaluate_run(platform, lower(graph, platform, program), {}, {});
}

Seconds evaluate_iteration(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program) {
  STAGECRAFT_CHECK(program.synchronous, "only synchronous programs have iterations");
  Seconds end;
  evaluate(platform, lower(graph, platform, program).source, {}, [&](const Span& span, const Op& op, auto) {
    if (op.kind == OpKind::Barrier) end = span.end;
  });
  return end;
}

}  // namespace stagecraft
