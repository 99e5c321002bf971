#include "sim/analytic/evaluate_plan.hpp"

#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/base/activity.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/run_recorder.hpp"
#include "sim/engine/summary.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/convergence.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

/// The number of microbatches up to the one of the window's last forward; 0 without any.
std::uint64_t microbatches_begun(const OpGraph& window) {
  const auto is_forward = [](const Op& op) { return op.kind == OpKind::Forward; };
  const auto last = std::find_if(window.ops.rbegin(), window.ops.rend(), is_forward);
  return last == window.ops.rend() ? 0 : last->microbatch + std::uint64_t{1};
}

}  // namespace

Report evaluate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan, const LowerOptions& options,
                     const Events& events, const RunWatch& watch) {
  return evaluate_program(graph, platform, require_schedule(graph, platform, plan), options, events, watch);
}

Report evaluate_program(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                        const LowerOptions& options, const Events& events, const RunWatch& watch) {
  LoweredRun run = lower(graph, platform, program, options);
  Summary summary(platform, run.measurement, evaluates_in_start_order(platform, run.source, events));
  RunSink sink = summed_up_by(summary);
  if (watch.span) {
    sink.span = [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
      summary.add(span, op, deltas);
      watch.span(span, op, deltas);
    };
  }
  OpSource source = announced_to(summary, std::move(run.source));
  if (watch.window) source = announced_to(watch.window, std::move(source));
  Activity activity("evaluating the plan");
  const auto microbatches = static_cast<std::uint64_t>(program.kept->plan.microbatches * options.iterations);
  source = announced_to(
      [&](const OpGraph& window) { activity.count(microbatches_begun(window), microbatches, "microbatches"); },
      std::move(source));
  evaluate(platform, std::move(source), events, sink);
  return summary.finish();
}

Report evaluate_with_bound(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                           const LowerOptions& options, RunWatch watch) {
  if (program.synchronous) return evaluate_program(graph, platform, program, options, {}, watch);
  BoundFold fold(platform, program);
  watch.window = [&, others = std::move(watch.window)](const OpGraph& window) {
    fold.add(window);
    if (others) others(window);
  };
  Report report = evaluate_program(graph, platform, program, options, {}, watch);
  if (const std::optional<LowerBound> bound = fold.finish(false)) report.bound = bound->time;
  return report;
}

Report evaluate_until_converged(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                const LowerOptions& options,
                                const std::function<RunWatch(const ScheduleProgram& run)>& watch) {
  RunLength length = first_length(program);
  ScheduleProgram run = program;
  bool is_first = true;
  std::optional<Seconds> bound;
  return run_until_converged(program, length, [&](const RunLength& of_run) {
    run = with_length(graph, platform, std::move(run), of_run);
    LowerOptions lowering = options;
    lowering.head = of_run.head;
    const RunWatch own = watch ? watch(run) : RunWatch();
    if (std::exchange(is_first, false)) {
      Report report = evaluate_with_bound(graph, platform, run, lowering, own);
      bound = report.bound;
      return report;
    }
    Report report = evaluate_program(graph, platform, run, lowering, {}, own);
    report.bound = bound;
    return report;
  });
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
