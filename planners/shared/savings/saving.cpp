#include "planners/shared/savings/saving.hpp"

#include <algorithm>
#include <bit>
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

/// Of the microbatch whose backward has ended.
Bytes freed_by(const SavingUnit& unit, UnitAction action) {
  if (action == UnitAction::Swap) return Bytes(0);
  return std::max((action == UnitAction::Recompute ? unit.checkpoint : unit.stash) - unit.shared, Bytes(0));
}

}  // namespace

bool can_swap(const StageBudget& budget) { return budget.bandwidth > 0.0 && budget.resident < budget.in_flight; }

Bytes residency(const SavingUnit& unit, UnitAction action, const StageBudget& budget) {
  if (action == UnitAction::Swap) return unit.stash * budget.resident;
  return (action == UnitAction::Recompute ? unit.checkpoint : unit.stash) * budget.in_flight;
}

void BackwardNeed::take(const SavingUnit& unit, UnitAction action) {
  if (action == UnitAction::Recompute) running = std::max(running, restoring(unit) - freed);
  freed += freed_by(unit, action);
}

std::vector<std::size_t> segment_lengths(const SavingStage& stage) {
  std::vector<std::size_t> lengths;
  const std::size_t most = stage.segments ? stage.units.size() : 1;
  for (std::size_t length = 1; length <= most;) {
    lengths.push_back(length);
    length += stage.units.size() <= kFewUnits ? 1 : std::max<std::size_t>(std::bit_floor(length) / 4, 1);
  }
  return lengths;
}

bool recomputes(const StageSaving& saving) { return std::ranges::count_if(saving.actions, is_recomputed) > 0; }

std::vector<SavingUnit> segments_before(const SavingStage& stage, std::size_t end) {
  return stage.segments ? stage.segments(0, end) : std::vector<SavingUnit>{stage.units[end - 1]};
}

std::vector<SavedPart> parts_of(const SavingStage& stage, std::span<const UnitAction> actions) {
  std::vector<SavedPart> parts;
  for (std::size_t end = actions.size(); end > 0; end = parts.back().begin) {
    std::size_t begin = end - 1;
    while (actions[begin] == UnitAction::Join) --begin;
    const SavingUnit unit = end - begin == 1 ? stage.units[begin] : stage.segments(begin, end).back();
    parts.push_back({begin, end, actions[begin], unit});
  }
  return parts;
}

Bytes saved_memory(const SavingStage& stage, std::span<const UnitAction> actions) {
  Bytes sum = stage.budget.held;
  BackwardNeed need{Bytes(0), largest_workspace(stage.units)};
  for (const SavedPart& part : parts_of(stage, actions)) {
    sum += residency(part.unit, part.action, stage.budget);
    need.take(part.unit, part.action);
  }
  return sum + need.running;
}

Seconds saved_time(std::span<const SavingUnit> units, std::span<const UnitAction> actions, const StageBudget& budget) {
  Seconds compute = compute_time(units);
  Bytes swapped;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (is_recomputed(actions[i])) compute += units[i].forward;
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

BackwardNeeds::BackwardNeeds(std::span<const SavingUnit> units)
    : leaves_(std::bit_ceil(std::max<std::size_t>(units.size(), 1))),
      nodes_(2 * leaves_),
      workspace_(largest_workspace(units)) {
  for (std::size_t i = 0; i < units.size(); ++i) nodes_[leaves_ + i].take(units[i], UnitAction::Keep);
  for (std::size_t node = leaves_; node-- > 1;) nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
}

BackwardNeed BackwardNeeds::joined(const BackwardNeed& before, const BackwardNeed& behind) {
  return {before.freed + behind.freed, std::max(behind.running, before.running - behind.freed)};
}

void BackwardNeeds::choose(std::size_t position, const SavingUnit& unit, UnitAction action) {
  std::size_t node = leaves_ + position;
  nodes_[node] = {};
  nodes_[node].take(unit, action);
  while (node > 1) {
    node /= 2;
    nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
  }
}

SavingChoice::SavingChoice(std::span<const SavingUnit> units, const StageBudget& budget)
    : units_(units), budget_(budget), actions_(units.size(), UnitAction::Keep), needs_(units) {
  for (const SavingUnit& unit : units) residencies_ += residency(unit, UnitAction::Keep, budget);
}

void SavingChoice::choose(std::size_t unit, UnitAction action) {
  const SavingUnit& changed = units_[unit];
  residencies_ += residency(changed, action, budget_) - residency(changed, actions_[unit], budget_);
  if (actions_[unit] == UnitAction::Swap) swapped_ -= changed.stash;
  if (action == UnitAction::Swap) swapped_ += changed.stash;
  needs_.choose(unit, changed, action);
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

Bytes SavingChoice::memory() const { return budget_.held + residencies_ + needs_.running(); }

std::optional<StageSaving> SavingChoice::saving() const {
  if (!fits()) return std::nullopt;
  return StageSaving{actions_, saved_time(units_, actions_, budget_), memory()};
}

}  // namespace stagecraft
