#include "sim/schedule/convergence.hpp"

#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int64_t kMostOperations = 500'000;  // of a run that is extended

/// About as many operations as a microbatch has: a forward and a backward on each replica that runs it, and a transfer
/// after each.
std::int64_t operations_of_a_microbatch(const ScheduleProgram& program) {
  return 4 * static_cast<std::int64_t>(program.kept->replicas.all_runners(0));
}

}  // namespace

RunLength first_length(const ScheduleProgram& program) {
  const Plan& plan = program.kept->plan;
  if (program.synchronous) return {plan.microbatches, 0};
  const std::int64_t discarded = discarded_at_an_end(program);
  const std::int64_t stride = whole_round(plan, program.kept->replicas);
  const std::int64_t window = (std::max(discarded, program.least_window) + stride - 1) / stride * stride;
  return {std::max(plan.microbatches, 2 * discarded + 2 * window + 1), 0};
}

std::optional<RunLength> longer_length(const ScheduleProgram& program, const RunLength& length) {
  const MeasuredPart part = measured_part(program, program.kept->replicas, length.microbatches, length.head);
  RunLength longer;
  longer.head = part.last;
  longer.microbatches = longer.head + 2 * (part.last - part.first) + 1 + discarded_at_an_end(program);
  if (longer.microbatches > kMostOperations / operations_of_a_microbatch(program)) return std::nullopt;
  return longer;
}

ScheduleProgram with_length(const LayerGraph& graph, const Platform& platform, ScheduleProgram program,
                            const RunLength& length) {
  Plan plan = program.kept->plan;
  plan.microbatches = length.microbatches;
  return recompiled(graph, platform, std::move(program), plan);
}

Report run_until_converged(const ScheduleProgram& program, RunLength& length,
                           const std::function<Report(const RunLength&)>& run) {
  for (;;) {
    Report report = run(length);
    if (!report.period || report.converged()) return report;
    const std::optional<RunLength> longer = longer_length(program, length);
    if (!longer) return report;
    length = *longer;
  }
}

}  // namespace stagecraft
