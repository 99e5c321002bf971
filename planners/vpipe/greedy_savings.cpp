#include "planners/vpipe/greedy_savings.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stagecraft::vpipe {
namespace {

double seconds_per_byte(Seconds time, Bytes bytes) { return time.value() / static_cast<double>(bytes.value()); }

/// Units by increasing rate; of equal ones the first comes first.
struct RatedUnit {
  std::size_t unit = 0;
  double rate = 0.0;
};
void sort_by_rate(std::vector<RatedUnit>& units) { std::ranges::stable_sort(units, {}, &RatedUnit::rate); }

void swap_hidden(std::span<const SavingUnit> units, const StageBudget& budget, SavingChoice& choice) {
  if (!can_swap(budget)) return;
  std::vector<RatedUnit> order;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (units[i].stash > Bytes(0)) order.push_back({i, -seconds_per_byte(units[i].forward, units[i].stash)});
  }
  sort_by_rate(order);
  const Seconds compute = compute_time(units);
  for (const RatedUnit& next : order) {
    if (choice.fits()) return;
    if (copy_time(choice.swapped() + units[next.unit].stash, budget) > compute) continue;
    choice.choose(next.unit, UnitAction::Swap);
  }
}

void recompute_cheapest(std::span<const SavingUnit> units, SavingChoice& choice) {
  std::vector<RatedUnit> order;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Bytes saved = units[i].stash - units[i].checkpoint;
    if (choice.action(i) != UnitAction::Keep || saved <= Bytes(0)) continue;
    order.push_back({i, seconds_per_byte(units[i].forward, saved)});
  }
  sort_by_rate(order);
  for (const RatedUnit& next : order) {
    if (choice.fits()) return;
    choice.choose(next.unit, UnitAction::Recompute);
  }
}

}  // namespace

std::optional<StageSaving> greedy_savings(std::span<const SavingUnit> units, const StageBudget& budget) {
  SavingChoice choice(units, budget);
  if (choice.fits()) return choice.saving();
  swap_hidden(units, budget, choice);
  recompute_cheapest(units, choice);
  choice.take_least_residency();
  if (!choice.fits()) return std::nullopt;
  choice.keep_again();
  return choice.saving();
}

}  // namespace stagecraft::vpipe
