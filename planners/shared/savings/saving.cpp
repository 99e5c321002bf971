#include "planners/shared/savings/saving.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace stagecraft {
namespace {

/// The units whose action is `action`, those with the largest `value` first; of equal ones the first comes first.
template <class Value>
std::vector<std::size_t> by_decreasing(const SavingChoice& choice, UnitAction action, const Value& value) {
  std::vector<std::size_t> units;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    if (choice.action(i) == action) units.push_back(i);
  }
  std::ranges::stable_sort(units, [&](std::size_t a, std::size_t b) { return value(a) > value(b); });
  return units;
}

UnitAction least_resident(const SavingUnit& unit, const StageBudget& budget) {
  UnitAction best = UnitAction::Recompute;
  for (const UnitAction action : {UnitAction::Swap, UnitAction::Keep}) {
    if (action == UnitAction::Swap && !can_swap(budget)) continue;
    if (residency(unit, action, budget) < residency(unit, best, budget)) best = action;
  }
  return best;
}

}  // namespace

bool can_swap(const StageBudget& budget) { return budget.bandwidth > 0.0 && budget.resident < budget.in_flight; }

Bytes residency(const SavingUnit& unit, UnitAction action, const StageBudget& budget) {
  if (action == UnitAction::Swap) return unit.stash * budget.resident;
  return (action == UnitAction::Recompute ? unit.checkpoint : unit.stash) * budget.in_flight;
}

Bytes saved_memory(std::span<const SavingUnit> units, std::span<const UnitAction> actions, const StageBudget& budget) {
  Bytes sum = budget.held;
  Bytes running = largest_workspace(units);
  for (std::size_t i = 0; i < units.size(); ++i) {
    sum += residency(units[i], actions[i], budget);
    if (actions[i] == UnitAction::Recompute) running = std::max(running, restoring(units[i]));
  }
  return sum + running;
}

Seconds saved_time(std::span<const SavingUnit> units, std::span<const UnitAction> actions, const StageBudget& budget) {
  Seconds compute = compute_time(units);
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (actions[i] == UnitAction::Recompute) compute += units[i].forward;
    if (actions[i] == UnitAction::Swap) swapped += units[i].stash;
  }
  return std::max(compute, copy_time(swapped, budget));
}

Seconds copy_time(Bytes swapped, const StageBudget& budget) {
  if (swapped <= Bytes(0)) return Seconds(0);
  return budget.unhidden +
         (swapped + budget.other_traffic) * (budget.half_duplex ? 2 : 1) / BytesPerSecond(budget.bandwidth);
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
Bytes least_saved_memory(std::span<const SavingUnit> units, const StageBudget& budget) {
  const UnitAction other = can_swap(budget) ? UnitAction::Swap : UnitAction::Keep;
  const auto least_other = [&](const SavingUnit& unit) { return residency(unit, other, budget); };
  const Bytes workspace = largest_workspace(units);
  std::vector<const SavingUnit*> by_need;  // units that recomputation helps
  Bytes sum = budget.held;
  for (const SavingUnit& unit : units) {
    const Bytes recomputed = residency(unit, UnitAction::Recompute, budget);
    if (recomputed < least_other(unit)) by_need.push_back(&unit);
    sum += std::min(recomputed, least_other(unit));
  }
  std::ranges::sort(by_need, std::greater<>(), [](const SavingUnit* unit) { return restoring(*unit); });
  Bytes least =
      sum + workspace + (by_need.empty() ? Bytes(0) : std::max(restoring(*by_need.front()) - workspace, Bytes(0)));
  for (std::size_t i = 0; i < by_need.size(); ++i) {
    sum += least_other(*by_need[i]) - residency(*by_need[i], UnitAction::Recompute, budget);
    const Bytes running = i + 1 < by_need.size() ? std::max(workspace, restoring(*by_need[i + 1])) : workspace;
    least = std::min(least, sum + running);
  }
  return least;
}

StageSaving with_some_kept(std::span<const SavingUnit> units, const StageBudget& budget, StageSaving saving) {
  constexpr std::int64_t kLongestWindow = 4096;  // of a plan's action
  const auto is = [&](UnitAction action) { return std::ranges::count(saving.actions, action) > 0; };
  if (is(UnitAction::Swap) || !is(UnitAction::Recompute) || budget.in_flight > kLongestWindow) return saving;
  const auto saved = [&](std::size_t i) { return units[i].stash - units[i].checkpoint; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (saving.actions[i] == UnitAction::Recompute && saved(i) > Bytes(0)) order.push_back(i);
  }
  const auto worth = [&](std::size_t i) { return units[i].forward.value() / static_cast<double>(saved(i).value()); };
  std::ranges::stable_sort(order, std::greater<>(), worth);
  std::vector<std::int64_t> kept(units.size());
  for (const std::size_t i : order) {
    const Bytes left = budget.capacity - saving.memory;
    kept[i] = std::min(budget.in_flight - 1, left.value() / saved(i).value());
    saving.memory += saved(i) * kept[i];
    saving.time -= units[i].forward * (static_cast<double>(kept[i]) / static_cast<double>(budget.in_flight));
  }
  saving.kept = std::move(kept);
  return saving;
}

SavingChoice::SavingChoice(std::span<const SavingUnit> units, const StageBudget& budget)
    : units_(units), budget_(budget), actions_(units.size(), UnitAction::Keep), workspace_(largest_workspace(units)) {
  for (const SavingUnit& unit : units) residencies_ += residency(unit, UnitAction::Keep, budget);
}

void SavingChoice::choose(std::size_t unit, UnitAction action) {
  const SavingUnit& changed = units_[unit];
  residencies_ += residency(changed, action, budget_) - residency(changed, actions_[unit], budget_);
  if (actions_[unit] == UnitAction::Swap) swapped_ -= changed.stash;
  if (actions_[unit] == UnitAction::Recompute) restoring_.erase(restoring_.find(restoring(changed)));
  if (action == UnitAction::Swap) swapped_ += changed.stash;
  if (action == UnitAction::Recompute) restoring_.insert(restoring(changed));
  actions_[unit] = action;
}

void SavingChoice::take_least_residency() {
  std::vector<Bytes> gain(units_.size());
  std::vector<std::size_t> order(units_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const SavingUnit& unit = units_[i];
    gain[i] = residency(unit, actions_[i], budget_) - residency(unit, least_resident(unit, budget_), budget_);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return gain[a] > gain[b]; });
  for (const std::size_t i : order) {
    if (fits() || gain[i] <= Bytes(0)) return;
    choose(i, least_resident(units_[i], budget_));
  }
}

void SavingChoice::keep_again() {
  const auto keep = [&](std::size_t i) {
    const UnitAction before = actions_[i];
    choose(i, UnitAction::Keep);
    if (!fits()) choose(i, before);
  };
  const auto forward = [&](std::size_t i) { return units_[i].forward; };
  const auto stash = [&](std::size_t i) { return units_[i].stash; };
  for (const std::size_t i : by_decreasing(*this, UnitAction::Recompute, forward)) keep(i);
  for (const std::size_t i : by_decreasing(*this, UnitAction::Swap, stash)) keep(i);
}

Bytes SavingChoice::memory() const {
  return budget_.held + residencies_ + (restoring_.empty() ? workspace_ : std::max(workspace_, *restoring_.rbegin()));
}

std::optional<StageSaving> SavingChoice::saving() const {
  if (!fits()) return std::nullopt;
  return StageSaving{actions_, saved_time(units_, actions_, budget_), memory()};
}

}  // namespace stagecraft
