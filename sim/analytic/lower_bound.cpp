#include "sim/analytic/lower_bound.hpp"

#include "sim/analytic/iteration_bound.hpp"
#include "sim/analytic/needs.hpp"
#include "sim/analytic/occupancy.hpp"
#include "sim/analytic/period_bound.hpp"
#include "sim/analytic/residences.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/kept_plan.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// Passes on all operations of a run, with what they wait for and their further lanes, until `take` returns false.
/// Whether it never did.
template <class Take>
bool all_operations(const OpSource& source, Occupancy& occupancy, Residences& residences, const Take& take) {
  Needs needs(occupancy);
  const Observation observation;
  while (const std::optional<OpGraph> window = source.next(observation)) {
    occupancy.add_lanes(window->new_lanes);
    std::span<const LaneId> extra = window->extra_lanes;
    for (std::size_t i = 0; i < window->ops.size(); ++i) {
      const Op& op = window->ops[i];
      const std::span<const OpId> own = needs.of(*window, i);
      residences.add(OpId(window->first_id.value() + i), op, occupancy.time_of(op), own);
      if (!take(op, own, extra.first(op.extra_lanes))) return false;
      extra = extra.subspan(op.extra_lanes);
    }
  }
  return true;
}

/// By stage, what no run exceeds; empty if only the orders tell. Where times decide the order, a stage takes every
/// forward that is ready while its backwards are late, so only a cap of its own limits it.
std::vector<std::int64_t> most_in_flight_of(const ScheduleProgram& program) {
  if (program.orders_are_given) return {};
  if (program.strict) return program.in_flight;
  std::vector<std::int64_t> caps;
  for (const Stage& stage : program.kept->plan.stages) {
    caps.push_back(stage.in_flight.value_or(program.kept->plan.microbatches));
  }
  return caps;
}

std::optional<LowerBound> unless_zero(const LowerBound& bound) {
  return bound.time > Seconds(0) ? std::optional(bound) : std::nullopt;
}

bool slows_down(const Platform& platform, const Event& event) {
  if (const auto* slowdown = std::get_if<Slowdown>(&event.change)) return slowdown->factor >= 1.0;
  if (const auto* change = std::get_if<BandwidthChange>(&event.change)) {
    return change->bandwidth <= platform.links[change->link].bandwidth;
  }
  if (const auto* jitter = std::get_if<Jitter>(&event.change)) return jitter->sigma == 0.0;
  if (const auto* work = std::get_if<MicrobatchWork>(&event.change)) {
    return std::ranges::all_of(work->factors, [](double factor) { return factor >= 1.0; });
  }
  const bool is_other_work =
      std::holds_alternative<ModelChange>(event.change) || std::holds_alternative<SizeChange>(event.change);
  return !is_other_work;  // else a failure, or less memory
}

}  // namespace

std::optional<LowerBound> lower_bound(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      const BoundOptions& options) {
  const KeptPlan& kept = *program.kept;
  LowerOptions lowering = options.lowering;
  lowering.iterations = 1;
  const LoweredRun run = lower(graph, platform, program, lowering);
  Occupancy occupancy(platform, kept.replicas, options.shares_links);
  Residences residences(platform, kept.replicas, kept.plan);
  std::vector<std::int64_t> in_flight = most_in_flight_of(program);
  if (program.synchronous) {
    IterationBound bound(occupancy, std::move(in_flight));
    const bool is_kept = all_operations(run.source, occupancy, residences, [&](const Op& op, auto needs, auto extra) {
      return bound.add(op, needs, extra);
    });
    return is_kept ? unless_zero(bound.finish(residences, kept.plan.microbatches)) : std::nullopt;
  }
  PeriodBound bound(occupancy, kept.plan, std::move(in_flight));
  if (bound.counted() == 0) return std::nullopt;
  all_operations(run.source, occupancy, residences, [&](const Op& op, auto, auto extra) {
    bound.add(op, extra);
    return true;
  });
  return unless_zero(bound.finish(residences));
}

std::optional<Seconds> evaluated_period_bound(const LayerGraph& graph, const Platform& platform,
                                              const ScheduleProgram& program, const LowerOptions& lowering) {
  if (program.synchronous) return std::nullopt;
  const std::optional<LowerBound> bound = lower_bound(graph, platform, program, {lowering, false});
  return bound ? std::optional(bound->time) : std::nullopt;
}

bool bound_holds(const Platform& platform, const Events& events, bool synchronous) {
  if (events.empty()) return true;
  return synchronous && std::ranges::all_of(events, [&](const Event& event) { return slows_down(platform, event); });
}

}  // namespace stagecraft
