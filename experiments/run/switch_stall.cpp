#include "experiments/run/switch_stall.hpp"

#include "experiments/run/stall.hpp"
#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/shared_ends.hpp"
#include "sim/base/error.hpp"
#include "sim/engine/summary.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::int64_t kIterations = 4;      ///< of a flushed run: the plan changes after one or two of them
constexpr std::int64_t kRoundsToRepeat = 2;  ///< of turns: with replicas a pipeline may repeat only every other one

/// The copies of a switch, and how long they take.
using Copies = std::map<OpId, TimedTransfer>;
using CopyTimes = std::map<OpId, Seconds>;

/// The source, whose copies take at least the given times.
OpSource with_copy_times(OpSource source, const CopyTimes& times) {
  if (times.empty()) return source;
  return {.next =
              [next = std::move(source.next), times](const Observation& seen) {
                std::optional<OpGraph> window = next(seen);
                if (!window) return window;
                const OpId end(window->first_id.value() + window->ops.size());
                for (auto copy = times.lower_bound(window->first_id); copy != times.end() && copy->first < end;
                     ++copy) {
                  window->ops[copy->first.value() - window->first_id.value()].seconds = copy->second;
                }
                return window;
              },
          .one_pass = source.one_pass};
}

/// Has the second plan follow after so many microbatches.
struct SwitchOnce {
  const PlansInTurn& plans;
  std::int64_t first = 0;
  bool is_done = false;

  ReplanAnswer operator()(const Observation&, const RunPosition& position) {
    if (std::exchange(is_done, true)) return {};
    const std::int64_t at = std::max(first, position.earliest);
    return {.change = PlanSwitch{plans.after, at}, .changing = plans.time_after};
  }
};

/// The microbatches after which a short run changes its plan: those of the long one, less the rounds that repeat.
std::int64_t first_of_short(const ScheduleProgram& before, std::int64_t run) {
  const std::int64_t whole = whole_round(before.kept->plan, before.kept->replicas);
  const std::int64_t least = (least_microbatches(before, before.kept->replicas) + whole - 1) / whole * whole;
  return run <= least ? run : least + (run - least) % (kRoundsToRepeat * whole);
}

/// A run that changes its plan once.
class SwitchingRun {
 public:
  SwitchingRun(const LayerGraph& graph, const Platform& platform, const PlansInTurn& plans, Seconds restart)
      : graph_(graph), platform_(platform), program_(require_schedule(graph, platform, plans.before)) {
    std::int64_t first = program_.kept->plan.microbatches;
    options_.window_operations = 1;
    if (program_.synchronous) {
      options_.iterations = kIterations;
    } else {
      const ScheduleProgram next = require_schedule(graph, platform, plans.after);
      first = first_of_short(program_, plans.run);
      Plan plan = plans.before;
      const std::int64_t least = least_microbatches(program_, program_.kept->replicas);
      const std::int64_t after = least_microbatches(next, next.kept->replicas);
      plan.microbatches = first < least ? least + after : first + std::min(after, plans.left);
      program_ = require_schedule(graph, platform, plan);
    }
    options_.report_window = program_.kept->plan.microbatches;
    options_.replanning = Replanning{.start = [&plans, first]() -> Replanner { return SwitchOnce{plans, first}; },
                                     .window = 1,
                                     .migrating = restart > Seconds(0) ? Migrating::Restart : Migrating::StopCopy,
                                     .restart = restart};
  }

  /// The report of the run, and its copies as they took place.
  [[nodiscard]] std::pair<Report, Copies> evaluated(const CopyTimes& times) const {
    LoweredRun run = lower(graph_, platform_, program_, options_);
    Summary summary(platform_, run.measurement, evaluates_in_start_order(platform_, run.source, {}));
    Copies copies;
    const auto note = [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
      summary.add(span, op, deltas);
      if (op.kind == OpKind::Migration) copies[span.id] = {op.from, op.to, op.bytes, span.start};
    };
    evaluate(platform_, announced_to(summary, with_copy_times(std::move(run.source), times)), {}, note);
    return {summary.finish(), std::move(copies)};
  }

 private:
  const LayerGraph& graph_;
  const Platform& platform_;
  ScheduleProgram program_;
  LowerOptions options_;
};

/// How long each copy takes if all of them share their links.
CopyTimes times_of(const Platform& platform, const Copies& copies) {
  std::vector<TimedTransfer> transfers;
  for (const auto& [op, copy] : copies) transfers.push_back(copy);
  const std::vector<Seconds> ends = shared_ends(platform, transfers);
  CopyTimes times;
  std::size_t i = 0;
  for (const auto& [op, copy] : copies) times[op] = ends[i++] - copy.start;
  return times;
}

}  // namespace

Seconds switch_stall(const LayerGraph& graph, const Platform& platform, const PlansInTurn& plans, Seconds restart) {
  const SwitchingRun run(graph, platform, plans, restart);
  auto [report, copies] = run.evaluated({});
  if (copies.size() > 1) report = run.evaluated(times_of(platform, copies)).first;
  const std::optional<Seconds> stall = stall_of(report, 0);
  STAGECRAFT_CHECK(stall, "a plan that was to change has changed");
  return *stall;
}

}  // namespace stagecraft
