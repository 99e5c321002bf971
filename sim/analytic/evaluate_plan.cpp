#include "sim/analytic/evaluate_plan.hpp"

#include "sim/analytic/evaluate.hpp"
#include "sim/engine/summary.hpp"
#include "sim/model/plan.hpp"

#include <utility>

namespace stagecraft {

Report evaluate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan, const LowerOptions& options,
                     const Events& events, const SpanSink& watch) {
  LoweredRun run = lower(graph, platform, plan, options);
  Summary summary(platform, run.measurement, evaluates_in_start_order(platform, run.source, events));
  evaluate(platform, announced_to(summary, std::move(run.source)), events,
           [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
             summary.add(span, op, deltas);
             if (watch) watch(span, op, deltas);
           });
  return summary.finish();
}

}  // namespace stagecraft
