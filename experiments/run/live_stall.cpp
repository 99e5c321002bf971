#include "experiments/run/live_stall.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/layer_moves.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lowering/live_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

/// The stages of a move before and after it.
struct MovedStages {
  const LayerGraph& graph;
  const Platform& platform;
  const Plan& before;
  const Plan& after;
  const LayerMove& move;

  [[nodiscard]] const Stage& of(const Plan& plan, StageId stage) const { return plan.stages[stage.value()]; }
  [[nodiscard]] StageTime time(const Plan& plan, StageId stage) const {
    return stage_time(graph, platform, of(plan, stage));
  }
};

/// What the tensors between the two stages leave of the bandwidth from the giver to the receiver; none if the copies
/// cross no link, 0 if nothing is left.
std::optional<double> bandwidth_left(const MovedStages& stages, Seconds period) {
  const DeviceId from = stages.of(stages.before, stages.move.from).replicas.front().lead();
  const DeviceId to = stages.of(stages.before, stages.move.to).replicas.front().lead();
  const std::optional<PairCost> cost = pair_cost(stages.platform, from, to);
  if (!cost || !cost->bandwidth) return std::nullopt;
  Bytes each;
  for (const Boundary& boundary : boundaries(stages.graph, stages.before)) {
    const auto ends = std::minmax(stages.move.from, stages.move.to);
    if (boundary.from == ends.first && boundary.to == ends.second) each += boundary.bytes;
  }
  return std::max(cost->bandwidth->value() - static_cast<double>(each.value()) / period.value(), 0.0);
}

/// By how much a copy that takes `bytes` at that bandwidth is late after `slack`.
double late(Bytes bytes, double bandwidth, Seconds slack) {
  return std::max(0.0, static_cast<double>(bytes.value()) / bandwidth - slack.value());
}

/// By how much the receiver's forwards are late that wait for weights, and the one that waits for the optimizer's
/// state. Downstream, the receiver's next forward comes after that of the giver and needs its last weights. Upstream,
/// it comes a period earlier, behind a backward, and needs the weights before those; so two versions of them are
/// copied.
double switch_lateness(const MovedStages& stages, Bytes weights, double bandwidth, Seconds period) {
  const StageTime taken = stages.time(stages.after, stages.move.to);
  const Bytes optimizer = weights * stages.before.training.optimizer_copies;
  if (stages.move.from < stages.move.to) {
    const Seconds next = stages.time(stages.after, stages.move.from).forward;
    return std::max(late(weights, bandwidth, next), late(weights + optimizer, bandwidth, next + taken.total()));
  }
  const Seconds next = stages.time(stages.before, stages.move.to).backward;
  const Bytes twice = weights * 2;
  return std::max({late(weights, bandwidth, next), late(twice, bandwidth, next + period),
                   late(twice + optimizer, bandwidth, next + period + taken.total())});
}

/// None if the copies cannot go beside the tensors of training.
std::optional<Seconds> stall_of(const MovedStages& stages, std::int64_t lag, Seconds period) {
  const std::optional<double> bandwidth = bandwidth_left(stages, period);
  if (!bandwidth) return Seconds(0);
  if (*bandwidth <= 0.0) return std::nullopt;
  const LayerMove& move = stages.move;
  Bytes weights;
  for (LayerId layer : move.layers) weights += stages.graph.layers[layer].parameters;
  const auto stash = [&](const Plan& plan) { return stage_program(stages.graph, stages.of(plan, move.to)).stash(); };
  const Bytes ahead = weights + stash(stages.after) - stash(stages.before);
  const double before = static_cast<double>(lag) * late(ahead, *bandwidth, period);
  return Seconds(before + switch_lateness(stages, weights, *bandwidth, period));
}

}  // namespace

std::optional<Seconds> live_stall(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& before,
                                  const Plan& after, Seconds period) {
  if (before.synchronous || before.at_once || period <= Seconds(0)) return std::nullopt;
  const auto moves = layer_moves(graph, before.kept->plan, after);
  if (!std::holds_alternative<LayerMoves>(moves)) return std::nullopt;
  Plan plan = before.kept->plan;
  Seconds longest{0};
  for (const LayerMove& move : std::get<LayerMoves>(moves)) {
    Plan moved = after_move(graph, plan, move);
    const std::optional<Seconds> stall =
        stall_of({graph, platform, plan, moved, move}, before.in_flight[move.from.value()] - 1, period);
    if (!stall) return std::nullopt;
    longest = std::max(longest, *stall);
    plan = std::move(moved);
  }
  return longest;
}

bool can_go_live(const LayerGraph& graph, const Platform& platform, Plan before, Plan after, std::int64_t run,
                 std::int64_t left) {
  const ScheduleProgram any = require_schedule(graph, platform, before);
  const std::int64_t whole = whole_round(before, any.kept->replicas);
  const std::int64_t enough = (4 * least_microbatches(any, any.kept->replicas) + whole - 1) / whole * whole;
  run = std::min(run, enough);
  left = std::min(left, enough);
  before.microbatches = after.microbatches = run + left;
  const ScheduleProgram running = require_schedule(graph, platform, before);
  const ScheduleProgram next = require_schedule(graph, platform, after);
  const RunShape now(graph, platform, running.kept, running.weight_versions, NetworkModel::Platform, false);
  return std::holds_alternative<LivePlan>(live_plan(now, running, next, run, run + left));
}

}  // namespace stagecraft
