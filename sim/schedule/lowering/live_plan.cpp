#include "sim/schedule/lowering/live_plan.hpp"

#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/layer_moves.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace stagecraft {
namespace {

using Kept = std::map<DeviceId, StaticMemory>;

/// What is in one and not in the other.
StaticMemory excess(const StaticMemory& of, const StaticMemory& over) {
  const auto more = [](Bytes a, Bytes b) { return std::max(a - b, Bytes(0)); };
  return {more(of.weights, over.weights), more(of.gradients, over.gradients), more(of.optimizer, over.optimizer),
          more(of.buffers, over.buffers)};
}

Kept excess(const Kept& of, const Kept& over) {
  Kept result;
  for (const auto& [device, kept] : of) {
    if (const StaticMemory more = excess(kept, over.at(device)); more.total() > Bytes(0)) result[device] = more;
  }
  return result;
}

/// The backwards of the stage that its device runs before the microbatch's forward; none if there are none.
std::optional<std::int64_t> backwards_before(const Schedule& orders, StageId stage, std::int64_t microbatch) {
  for (const DeviceOrder& order : orders.devices) {
    std::optional<std::int64_t> backwards;
    for (const Action& action : order.actions) {
      if (action.stage != stage) continue;
      if (action.kind == ActionKind::Backward) backwards = std::int64_t{action.microbatch} + 1;
      if (action.kind == ActionKind::Forward && std::int64_t{action.microbatch} == microbatch) return backwards;
    }
  }
  return std::nullopt;
}

/// The orders around a microbatch.
Schedule orders_around(const ScheduleProgram& program, std::int64_t microbatch) {
  const std::int64_t reach = 2 * program.steady_in_flight;
  const std::int64_t end = std::min(microbatch + reach, program.kept->plan.microbatches);
  return program.orders({std::max<std::int64_t>(microbatch - reach, 0), end});
}

/// Why these orders cannot go on while layers move; empty if they can.
std::string why_not_ordered(const Schedule& before, const Schedule& next) {
  if (before != next) return "the plans order their passes differently";
  const bool is_plain = before.channels.empty() && !before.explicit_transfers && !before.rendezvous &&
                        std::ranges::all_of(before.devices, [](const DeviceOrder& order) {
                          return order.discipline == Discipline::Strict;
                        });
  return is_plain ? "" : "the schedule does not run forwards and backwards in turn";
}

Bytes workspace_of(const StageProgram& program) { return std::max(program.workspace, program.backward_workspace()); }

/// Finds the moves' microbatches, versions and bytes, and makes the shapes.
class LivePlanner {
 public:
  LivePlanner(const RunShape& now, const ScheduleProgram& before, const ScheduleProgram& next, std::int64_t first)
      : now_(now), before_(before), next_(next), first_(first), orders_(orders_around(next, first)) {}

  [[nodiscard]] std::variant<LivePlan, std::string> plan() {
    if (now_.is_analytic()) return "channels of the analytic network stay as they are";
    if (before_.at_once || next_.at_once) return "stages share a device";
    if (std::string why = why_not_ordered(orders_around(before_, first_), orders_); !why.empty()) return why;
    auto moves = layer_moves(now_.graph(), now_.plan(), next_.kept->plan);
    if (const auto* why = std::get_if<std::string>(&moves)) return *why;
    const RunShape* shape = &now_;
    for (const LayerMove& move : std::get<LayerMoves>(moves)) {
      Plan moved = after_move(now_.graph(), shape->plan(), move);
      if (!check_plan(now_.graph(), now_.platform(), moved).empty()) return "a plan on the way is not sound";
      auto moved_shape = shape_of(std::make_shared<KeptPlan>(std::move(moved)));
      if (std::string why = add(move, *shape, *moved_shape); !why.empty()) return why;
      live_.shapes.push_back({std::move(moved_shape), {ShapeBegin::kNever, live_.moves.back().first_backward}});
      shape = live_.shapes.back().shape.get();
    }
    live_.shapes.push_back({shape_of(next_.kept), {first_, first_}});
    if (std::string why = why_not_fitting(); !why.empty()) return why;
    return std::move(live_);
  }

 private:
  [[nodiscard]] std::unique_ptr<const RunShape> shape_of(std::shared_ptr<const KeptPlan> kept) const {
    return std::make_unique<const RunShape>(now_.graph(), now_.platform(), std::move(kept), NetworkModel::Platform,
                                            false);
  }

  /// Adds a move between two shapes; returns why it cannot be made, or nothing.
  [[nodiscard]] std::string add(const LayerMove& layers, const RunShape& from, const RunShape& to) {
    const std::optional<std::int64_t> given = backwards_before(orders_, layers.from, first_);
    const std::optional<std::int64_t> taken = backwards_before(orders_, layers.to, first_);
    if (!given || !taken) return "the pipeline has only just been filled";
    const std::int64_t rounds = now_.plan().rounds_per_update;
    LiveMove move;
    move.from = now_.replicas().of(layers.from).front();
    move.to = now_.replicas().of(layers.to).front();
    move.lag = first_ - *given;
    move.first_backward = (*given + rounds - 1) / rounds * rounds;
    move.last_version = move.first_backward / rounds;
    move.first_urgent = std::min({*taken, first_ - move.lag, move.first_backward}) / rounds;
    move.first_version = std::min(move.first_urgent, (move.first_backward - move.lag) / rounds);
    if (move.first_version < 0) return "the pipeline has only just been filled";
    if (!live_.moves.empty() && live_.moves.back().first_backward > move.first_backward) {
      return "a later stage has more microbatches in flight than an earlier one";
    }
    for (LayerId layer : layers.layers) move.weights += now_.graph().layers[layer].parameters;
    move.optimizer = move.weights * now_.plan().training.optimizer_copies;
    move.stash_taken = to[move.to].program.stash() - from[move.to].program.stash();
    move.stash_freed = from[move.from].program.stash() - to[move.from].program.stash();
    const Kept before = kept_memory(from, next_.weight_versions);
    const Kept after = kept_memory(to, next_.weight_versions);
    move.grows = excess(after, before);
    move.shrinks = excess(before, after);
    live_.moves.push_back(std::move(move));
    return "";
  }

  /// Which device lacks memory on the way; empty if none does. It keeps all that it ever keeps during the switch, and
  /// the largest stash of any shape for each microbatch in flight.
  [[nodiscard]] std::string why_not_fitting() const {
    Kept kept = kept_memory(now_, next_.weight_versions);
    for (const LiveMove& move : live_.moves) {
      for (const auto& [device, more] : move.grows) kept[device] += more;
    }
    for (ReplicaId id : now_.replicas().all()) {
      const DeviceId device = now_.replicas()[id].device;
      const std::int64_t in_flight = next_.in_flight[now_.replicas()[id].stage.value()];
      Bytes stash = now_[id].program.stash();
      Bytes workspace = workspace_of(now_[id].program);
      for (const LiveShape& one : live_.shapes) {
        const StageProgram& program = (*one.shape)[id].program;
        stash = std::max(stash, program.stash());
        workspace = std::max(workspace, workspace_of(program));
      }
      Bytes total = kept.at(device).total() + stash * in_flight + workspace;
      for (const LiveMove& move : live_.moves) {
        const std::int64_t beyond = std::max<std::int64_t>(first_ - move.first_backward - in_flight, 0);
        if (move.to == id) total += move.stash_taken * beyond;
      }
      const Bytes capacity = now_.platform().capacity(device);
      if (total > capacity) {
        return fmt::format("device {} would need {} while layers move, and has {}",
                           now_.platform().devices[device].name, format_human_bytes(total),
                           format_human_bytes(capacity));
      }
    }
    return "";
  }

  const RunShape& now_;
  const ScheduleProgram& before_;
  const ScheduleProgram& next_;
  std::int64_t first_;
  Schedule orders_;  ///< around the first microbatch
  LivePlan live_;
};

}  // namespace

std::map<DeviceId, StaticMemory> kept_memory(const RunShape& shape, const std::vector<std::int64_t>& versions) {
  const std::vector<Boundary> crossing = boundaries(shape.graph(), shape.plan());
  Kept kept;
  for (ReplicaId id : shape.replicas().all()) {
    const Replica& replica = shape.replicas()[id];
    const Bytes boundary = boundary_bytes(shape.plan(), crossing, replica.stage, replica.device);
    std::int64_t on_device = versions[replica.stage.value()];
    if (moves_versions(shape.plan().stages[replica.stage.value()], on_device)) on_device = kVersionsOnDevice;
    kept[replica.device] += static_memory(shape.plan().training, shape[id].program, on_device, boundary, replica.share);
  }
  return kept;
}

std::variant<LivePlan, std::string> live_plan(const RunShape& now, const ScheduleProgram& before,
                                              const ScheduleProgram& next, std::int64_t first) {
  if (before.synchronous || next.synchronous) return "the pipeline drains at the end of every iteration";
  return LivePlanner(now, before, next, first).plan();
}

}  // namespace stagecraft
