#include "sim/schedule/lowering/live_plan.hpp"

#include "sim/base/text.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/model/layer_moves.hpp"
#include "sim/schedule/measured_part.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

using Kept = std::map<DeviceId, StaticMemory>;

/// What is in one and not in the other.
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
  const bool is_plain = before.channels.empty() && before.transfers == Transfers::Eager &&
                        std::ranges::all_of(before.devices, [](const DeviceOrder& order) {
                          return order.discipline == Discipline::Strict;
                        });
  return is_plain ? "" : "the schedule does not run forwards and backwards in turn";
}

/// The most that a replica needs besides what it keeps, while its microbatches in flight follow several shapes. What is
/// swapped counts for two of them: it is in use for one, and on its way for another.
class Working {
 public:
  explicit Working(std::int64_t in_flight) : in_flight_(in_flight) {}

  void add(const StageProgram& program, Bytes beside = Bytes(0)) {
    const Bytes swapped = program.stash() - program.kept;
    const Bytes stashes = program.kept * in_flight_ + swapped * std::min<std::int64_t>(in_flight_, 2);
    stashes_ = std::max(stashes_, stashes + beside);
    workspace_ = std::max({workspace_, program.workspace, program.backward_workspace()});
  }
  [[nodiscard]] Bytes most() const { return stashes_ + workspace_; }

 private:
  std::int64_t in_flight_;
  Bytes stashes_;
  Bytes workspace_;
};

/// Of a microbatch. Layers do not move while actions cover only some of them (`layer_moves`).
Bytes stash_of(const RunShape& shape, ReplicaId replica) { return shape[replica].work.programs.first().stash(); }

/// The actions of a stage on those of its layers for which `takes` holds, added to another stage.
template <class Takes>
void add_actions(const Stage& of, const Takes& takes, Stage& to) {
  for (MemoryAction action : of.memory) {
    auto& layers = std::visit([](auto& one) -> std::vector<LayerId>& { return one.layers; }, action);
    std::erase_if(layers, [&](LayerId layer) { return !takes(layer); });
    if (!layers.empty()) to.memory.push_back(std::move(action));
  }
}

/// The plan with the cuts of `plan`, in which the layers that are in the given stages before or after the switch have
/// what `next` does with their stash.
Plan with_actions_of(const Plan& next, const Plan& plan, const std::vector<StageId>& stages) {
  std::set<LayerId> changed;
  for (StageId id : stages) {
    changed.insert(plan.stages[id.value()].layers.begin(), plan.stages[id.value()].layers.end());
    changed.insert(next.stages[id.value()].layers.begin(), next.stages[id.value()].layers.end());
  }
  Plan mixed = plan;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::set<LayerId> own(plan.stages[s].layers.begin(), plan.stages[s].layers.end());
    mixed.stages[s].memory.clear();
    add_actions(plan.stages[s], [&](LayerId layer) { return !changed.contains(layer); }, mixed.stages[s]);
    for (const Stage& stage : next.stages) {
      add_actions(
          stage, [&](LayerId layer) { return changed.contains(layer) && own.contains(layer); }, mixed.stages[s]);
    }
  }
  return mixed;
}

/// Finds the moves' microbatches, versions and bytes, and makes the shapes.
class LivePlanner {
 public:
  /// The `saving` stages first do with their stash what the next plan says.
  LivePlanner(const RunShape& now, const ScheduleProgram& before, const ScheduleProgram& next, std::int64_t first,
              std::vector<StageId> saving)
      : now_(now), before_(before), next_(next), saving_(std::move(saving)), orders_(orders_around(next, first)) {
    live_.first = first;
  }

  [[nodiscard]] std::variant<LivePlan, std::string> plan() {
    if (now_.is_analytic()) return "channels of the analytic network stay as they are";
    if (before_.at_once || next_.at_once) return "a schedule makes the orders of an iteration at once";
    if (std::string why = why_not_ordered(orders_around(before_, live_.first), orders_); !why.empty()) return why;
    if (std::string why = find_moves(); !why.empty()) return why;
    live_.shapes.push_back({shape_of(next_.kept), {live_.first, live_.first, true}});
    for (ReplicaId id : now_.replicas().all()) check_memory(id);
    if (!why_lacking_.empty()) return why_lacking_;
    return std::move(live_);
  }
  /// The stages that lack memory while layers move.
  [[nodiscard]] const std::vector<StageId>& lacking() const { return lacking_; }

 private:
  [[nodiscard]] bool saves(StageId stage) const { return std::ranges::count(saving_, stage) > 0; }

  [[nodiscard]] std::unique_ptr<const RunShape> shape_of(std::shared_ptr<const KeptPlan> kept) const {
    return std::make_unique<const RunShape>(now_.graph(), now_.platform(), std::move(kept), next_.weight_versions,
                                            NetworkModel::Platform, false);
  }

  /// Adds a shape, unless its plan is not sound.
  [[nodiscard]] bool add_shape(Plan plan) {
    if (!check_plan(now_.graph(), now_.platform(), plan).empty()) return false;
    live_.shapes.push_back({shape_of(std::make_shared<KeptPlan>(now_.graph(), now_.platform(), std::move(plan))), {}});
    return true;
  }

  /// Returns why there are no moves that a run can make, or nothing.
  [[nodiscard]] std::string find_moves() {
    std::string not_sound = "a plan on the way is not sound";
    const RunShape* shape = &now_;
    if (!saving_.empty()) {
      if (!add_shape(with_actions_of(next_.kept->plan, now_.plan(), saving_))) return not_sound;
      shape = live_.shapes.back().shape.get();
    }
    auto moves = layer_moves(now_.graph(), shape->plan(), next_.kept->plan);
    if (const auto* why = std::get_if<std::string>(&moves)) return *why;
    for (const LayerMove& move : std::get<LayerMoves>(moves)) {
      if (!add_shape(after_move(now_.graph(), shape->plan(), move))) return not_sound;
      const RunShape* moved = live_.shapes.back().shape.get();
      if (std::string why = add(move, *shape, *moved); !why.empty()) return why;
      live_.shapes.back().begin = {ShapeBegin::kNever, live_.moves.back().first_backward, false};
      shape = moved;
    }
    if (!saving_.empty()) save_first();
    return "";
  }

  /// The saving stages are done with all microbatches of the present shape before the first weights are made that go to
  /// them.
  void save_first() {
    std::int64_t first = live_.moves.front().first_backward;
    for (const LiveMove& move : live_.moves) {
      first = std::min(first, move.first_version * now_.plan().rounds_per_update);
    }
    first -= next_.steady_in_flight;
    live_.shapes.front().begin = {first, first, false};
    for (LiveMove& move : live_.moves) {
      const bool any_saves = saves(now_.replicas()[move.from].stage) || saves(now_.replicas()[move.to].stage);
      if (any_saves) move.reserved_after = first;
    }
  }

  /// Adds a move between two shapes; returns why it cannot be made, or nothing.
  [[nodiscard]] std::string add(const LayerMove& layers, const RunShape& from, const RunShape& to) {
    const std::optional<std::int64_t> given = backwards_before(orders_, layers.from, live_.first);
    const std::optional<std::int64_t> taken = backwards_before(orders_, layers.to, live_.first);
    if (!given || !taken) return "the pipeline has only just been filled";
    const std::int64_t rounds = now_.plan().rounds_per_update;
    LiveMove move;
    move.from = now_.replicas().of(layers.from).front();
    move.to = now_.replicas().of(layers.to).front();
    move.lag = live_.first - *given;
    move.first_backward = (*given + rounds - 1) / rounds * rounds;
    move.last_version = move.first_backward / rounds;
    move.first_urgent = std::min({*taken, *given, move.first_backward}) / rounds;
    move.first_version = std::min(move.first_urgent, (move.first_backward - move.lag) / rounds);
    if (move.first_version < 0) return "the pipeline has only just been filled";
    if (!live_.moves.empty() && live_.moves.back().first_backward > move.first_backward) {
      return "a later stage has more microbatches in flight than an earlier one";
    }
    for (LayerId layer : layers.layers) move.weights += now_.graph().layers[layer].parameters;
    move.optimizer = move.weights * now_.plan().training.optimizer_copies;
    const std::int64_t versions = move.last_version - move.first_version + 1;
    const std::int64_t own = next_.weight_versions[layers.to.value()];
    move.beside = move.weights * std::max<std::int64_t>(versions - own, 0);
    move.stash_taken = stash_of(to, move.to) - stash_of(from, move.to);
    move.stash_freed = stash_of(from, move.from) - stash_of(to, move.from);
    const Kept before = kept_memory(from, next_.weight_versions);
    const Kept after = kept_memory(to, next_.weight_versions);
    move.grows = excess(after, before);
    move.shrinks = excess(before, after);
    live_.moves.push_back(std::move(move));
    return "";
  }

  /// The most that the replica may need on the way: all that it ever keeps, and for its microbatches in flight what the
  /// shapes need, with the stash that it has given away but whose copies have not arrived. A stage that saves first is
  /// done with the present shape before it keeps more.
  [[nodiscard]] Bytes most_memory(ReplicaId id) const {
    const Replica& replica = now_.replicas()[id];
    const std::int64_t in_flight = next_.in_flight[replica.stage.value()];
    const Bytes kept_before = kept_memory(now_, next_.weight_versions).at(replica.device).total();
    Bytes kept = kept_before;
    Bytes leaving;
    Working first(in_flight);
    Working working(in_flight);
    (saves(replica.stage) ? first : working).add(now_[id].work.programs.first());
    if (saves(replica.stage)) first.add((*live_.shapes.front().shape)[id].work.programs.first());
    auto move = live_.moves.begin();
    for (const LiveShape& one : live_.shapes) {
      if (one.begin.forwards == ShapeBegin::kNever) {  // the shape of the next move
        const std::int64_t handed_over = live_.first - move->first_backward;
        if (move->from == id) leaving += move->stash_freed * handed_over;
        if (move->to == id) {
          kept += move->beside + move->stash_taken * std::max<std::int64_t>(handed_over - in_flight, 0);
        }
        if (const auto more = move->grows.find(replica.device); more != move->grows.end()) kept += more->second.total();
        ++move;
      }
      working.add((*one.shape)[id].work.programs.first(), leaving);
    }
    return std::max(kept_before + first.most(), kept + working.most());
  }

  void check_memory(ReplicaId id) {
    const DeviceId device = now_.replicas()[id].device;
    const Bytes most = most_memory(id);
    const Bytes capacity = now_.platform().capacity(device);
    if (most <= capacity) return;
    if (!live_.moves.empty()) lacking_.push_back(now_.replicas()[id].stage);
    why_lacking_ =
        fmt::format("device {} would need {} while layers move, and has {}", now_.platform().devices[device].name,
                    format_human_bytes(most), format_human_bytes(capacity));
  }

  const RunShape& now_;
  const ScheduleProgram& before_;
  const ScheduleProgram& next_;
  std::vector<StageId> saving_;
  Schedule orders_;  ///< around the first microbatch
  LivePlan live_;
  std::vector<StageId> lacking_;
  std::string why_lacking_;
};

}  // namespace

std::map<DeviceId, StaticMemory> kept_memory(const RunShape& shape, const std::vector<std::int64_t>& versions) {
  Kept kept;
  for (ReplicaId id : shape.replicas().all()) {
    const Replica& replica = shape.replicas()[id];
    std::int64_t on_device = versions[replica.stage.value()];
    if (moves_versions(shape.plan().stages[replica.stage.value()], on_device)) on_device = kVersionsOnDevice;
    kept[replica.device] +=
        static_memory(shape.kept(), id, held_parameters(shape.kept(), id, shape[id].parameters, on_device));
  }
  return kept;
}

std::variant<LivePlan, std::string> live_plan(const RunShape& now, const ScheduleProgram& before,
                                              const ScheduleProgram& next, std::int64_t first, std::int64_t end) {
  if (before.synchronous || next.synchronous) return "the pipeline drains at the end of every iteration";
  LivePlanner direct(now, before, next, first, {});
  std::variant<LivePlan, std::string> found = direct.plan();
  if (direct.lacking().empty()) return found;
  const std::int64_t whole = whole_round(now.plan(), now.replicas());
  const std::int64_t in_flight = next.steady_in_flight;  // ahead of the copies, of the moves and of the new weights
  const std::int64_t later = first + (3 * in_flight + 2 * whole - 1) / whole * whole;
  if (later >= end) return found;
  return LivePlanner(now, before, next, later, direct.lacking()).plan();
}

}  // namespace stagecraft
