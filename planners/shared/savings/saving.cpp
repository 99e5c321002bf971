#include "planners/shared/savings/saving.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

/// The units whose action is `action`, those with the largest `value` first; of equal ones the first comes first.
template <class Value>
std::vector<std::size_t> by_decreasing(const SavingChoice& choice, Saving action, const Value& value) {
  std::vector<std::size_t> units;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (choice.action(i) == action) units.push_back(i);
  }
  std::ranges::stable_sort(units, [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  return units;
}

Saving least_resident(const SavingUnit& unit, const StageRoom& room) {
  Saving best = Saving::Recompute;
  for (const Saving action : {Saving::Swap, Saving::Keep}) {
    if (action == Saving::Swap && !can_swap(room)) continue;
    if (residency(unit, action, room) < residency(unit, best, room)) best = action;
  }
  return best;
}

}  // namespace

bool can_swap(const StageRoom& room) { return room.bandwidth > 0.0 && room.resident < room.in_flight; }

Bytes residency(const SavingUnit& unit, Saving action, const StageRoom& room) {
  if (action == Saving::Swap) return unit.stash * room.resident;
  return (action == Saving::Recompute ? unit.checkpoint : unit.stash) * room.in_flight;
}

Bytes saved_memory(std::span<const SavingUnit> units, std::span<const Saving> actions, const StageRoom& room) {
  Bytes sum = room.held;
  Bytes running = largest_workspace(units);
  for (std::size_t i = 0; i < units.size(); ++i) {
    sum += residency(units[i], actions[i], room);
    if (actions[i] == Saving::Recompute) running = std::max(running, restoring(units[i]));
  }
  return sum + running;
}

Seconds saved_time(std::span<const SavingUnit> units, std::span<const Saving> actions, const StageRoom& room) {
  Seconds compute = compute_time(units);
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (actions[i] == Saving::Recompute) compute += units[i].forward;
    if (actions[i] == Saving::Swap) swapped += units[i].stash;
  }
  return std::max(compute, copy_time(swapped, room));
}

Seconds copy_time(Bytes swapped, const StageRoom& room) {
  if (swapped <= Bytes(0)) return Seconds(0);
  return room.unhidden + (swapped + room.other_traffic) * (room.half_duplex ? 2 : 1) / BytesPerSecond(room.bandwidth);
}

Seconds compute_time(std::span<const SavingUnit> units) {
  Seconds sum;
  for (const SavingUnit& unit : units) sum += unit.forward + unit.backward;
  return sum;
}

Bytes restoring(const SavingUnit& unit) { return unit.stash - unit.checkpoint + unit.workspace; }

Bytes largest_workspace(std::span<const SavingUnit> units) {
  Bytes largest;
  for (const SavingUnit& unit : units) largest = std::max(largest, unit.workspace);
  return largest;
}

// What units need while they run counts once, for the one that needs most. So each such amount is tried, from the
// largest down: units that would need more are not recomputed, and every unit takes the action with the least memory
// among the others.
Bytes least_saved_memory(std::span<const SavingUnit> units, const StageRoom& room) {
  const Saving other = can_swap(room) ? Saving::Swap : Saving::Keep;
  const auto least_other = [&](const SavingUnit& unit) { return residency(unit, other, room); };
  const Bytes workspace = largest_workspace(units);
  std::vector<const SavingUnit*> by_need;  // units that recomputation helps
  Bytes sum = room.held;
  for (const SavingUnit& unit : units) {
    const Bytes recomputed = residency(unit, Saving::Recompute, room);
    if (recomputed < least_other(unit)) by_need.push_back(&unit);
    sum += std::min(recomputed, least_other(unit));
  }
  std::ranges::sort(by_need, std::greater<>(), [](const SavingUnit* unit) { return restoring(*unit); });
  Bytes least =
      sum + workspace + (by_need.empty() ? Bytes(0) : std::max(restoring(*by_need.front()) - workspace, Bytes(0)));
  for (std::size_t i = 0; i < by_need.size(); ++i) {
    sum += least_other(*by_need[i]) - residency(*by_need[i], Saving::Recompute, room);
    const Bytes running = i + 1 < by_need.size() ? std::max(workspace, restoring(*by_need[i + 1])) : workspace;
    least = std::min(least, sum + running);
  }
  return least;
}

SavingPlan with_some_kept(std::span<const SavingUnit> units, const StageRoom& room, SavingPlan plan) {
  constexpr std::int64_t kLongestWindow = 4096;  // of a plan's action
  const auto is = [&](Saving action) { return std::ranges::count(plan.actions, action) > 0; };
  if (is(Saving::Swap) || !is(Saving::Recompute) || room.in_flight > kLongestWindow) return plan;
  const auto saved = [&](std::size_t i) { return units[i].stash - units[i].checkpoint; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (plan.actions[i] == Saving::Recompute && saved(i) > Bytes(0)) order.push_back(i);
  }
  const auto worth = [&](std::size_t i) { return units[i].forward.value() / static_cast<double>(saved(i).value()); };
  std::ranges::stable_sort(order, std::greater<>(), worth);
  std::vector<std::int64_t> kept(units.size());
  for (const std::size_t i : order) {
    const Bytes left = room.capacity - plan.memory;
    kept[i] = std::min(room.in_flight - 1, left.value() / saved(i).value());
    plan.memory += saved(i) * kept[i];
    plan.time -= units[i].forward * (static_cast<double>(kept[i]) / static_cast<double>(room.in_flight));
  }
  plan.kept = std::move(kept);
  return plan;
}

SavingChoice::SavingChoice(std::span<const SavingUnit> units, const StageRoom& room)
    : units_(units), room_(room), actions_(units.size(), Saving::Keep), workspace_(largest_workspace(units)) {
  for (const SavingUnit& unit : units) residencies_ += residency(unit, Saving::Keep, room);
}

void SavingChoice::choose(std::size_t unit, Saving action) {
  const SavingUnit& changed = units_[unit];
  residencies_ += residency(changed, action, room_) - residency(changed, actions_[unit], room_);
  if (actions_[unit] == Saving::Swap) swapped_ -= changed.stash;
  if (actions_[unit] == Saving::Recompute) restoring_.erase(restoring_.find(restoring(changed)));
  if (action == Saving::Swap) swapped_ += changed.stash;
  if (action == Saving::Recompute) restoring_.insert(restoring(changed));
  actions_[unit] = action;
}

void SavingChoice::take_least_residency() {
  std::vector<Bytes> gain(units_.size());
  std::vector<std::size_t> order(units_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const SavingUnit& unit = units_[i];
    gain[i] = residency(unit, actions_[i], room_) - residency(unit, least_resident(unit, room_), room_);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
  for (const std::size_t i : order) {
    if (fits() || gain[i] <= Bytes(0)) return;
    choose(i, least_resident(units_[i], room_));
  }
}

void SavingChoice::keep_again() {
  const auto keep = [&](std::size_t i) {
    const Saving before = actions_[i];
    choose(i, Saving::Keep);
    if (!fits()) choose(i, before);
  };
  const auto forward = [&](std::size_t i) { return units_[i].forward; };
  const auto stash = [&](std::size_t i) { return units_[i].stash; };
  for (const std::size_t i : by_decreasing(*this, Saving::Recompute, forward)) keep(i);
  for (const std::size_t i : by_decreasing(*this, Saving::Swap, stash)) keep(i);
}

Bytes SavingChoice::memory() const {
  return room_.held + residencies_ + (restoring_.empty() ? workspace_ : std::max(workspace_, *restoring_.rbegin()));
}

std::optional<SavingPlan> SavingChoice::plan() const {
  if (!fits()) return std::nullopt;
  return SavingPlan{actions_, saved_time(units_, actions_, room_), memory()};
}

}  // namespace stagecraft
