#include "planners/dawnpiper/memory_choice.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace stagecraft::dawnpiper {
namespace {

/// An action for a unit, and the bytes that it saves for each second that it costs.
struct Offer {
  std::size_t unit = 0;
  UnitAction action = UnitAction::Keep;
  double per_second = -1.0;  ///< below all offers
};

double per_second(Bytes saved, Seconds cost) {
  if (cost <= Seconds(0)) return std::numeric_limits<double>::infinity();
  return static_cast<double>(saved.value()) / cost.value();
}

/// The choice for one stage, in the order of its steps.
class MemoryChoice {
 public:
  MemoryChoice(std::span<const SavingUnit> units, const StageBudget& budget)
      : units_(units), budget_(budget), choice_(units, budget), compute_(compute_time(units)) {}

  std::optional<StageSaving> run() {
    if (!choice_.fits()) take_free_swaps();
    if (!choice_.fits()) take_offers();
    if (!choice_.fits()) choice_.take_least_residency();
    if (!choice_.fits()) return std::nullopt;
    choice_.keep_again();
    return choice_.saving();
  }

 private:
  /// Swaps whose copies there and back take no longer than the stash is not needed, by decreasing slack, as long as all
  /// copies are hidden behind the computation.
  void take_free_swaps() {
    if (!can_swap(budget_)) return;
    std::vector<Seconds> slack = free_times(units_, budget_);
    for (std::size_t i = 0; i < units_.size(); ++i) {
      slack[i] += -(units_[i].stash * 2 / BytesPerSecond(budget_.bandwidth));
    }
    std::vector<std::size_t> order(units_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return slack[a] > slack[b]; });
    for (const std::size_t i : order) {
      if (choice_.fits() || slack[i] < Seconds(0)) return;
      if (units_[i].stash > Bytes(0) && copies_with(i) <= compute_) choice_.choose(i, UnitAction::Swap);
    }
  }

  void take_offers() {
    std::vector<Offer> recomputes = recompute_offers();
    for (std::size_t next = 0; !choice_.fits();) {
      while (next < recomputes.size() && choice_.action(recomputes[next].unit) != UnitAction::Keep) ++next;
      Offer best = best_swap();
      if (next < recomputes.size() && !is_before(best, recomputes[next])) best = recomputes[next];
      if (best.action == UnitAction::Keep) return;
      choice_.choose(best.unit, best.action);
      if (best.action == UnitAction::Recompute) recompute_ += units_[best.unit].forward;
    }
  }

  /// The offer with more bytes per second comes first; of equal ones that of the earlier unit, and a recomputation
  /// before a swap.
  static bool is_before(const Offer& a, const Offer& b) {
    if (a.per_second != b.per_second) return a.per_second > b.per_second;
    return a.unit < b.unit;
  }

  [[nodiscard]] std::vector<Offer> recompute_offers() const {
    std::vector<Offer> offers;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const Bytes saved = units_[i].stash - units_[i].checkpoint;
      if (saved <= Bytes(0)) continue;
      offers.push_back({i, UnitAction::Recompute, per_second(saved * budget_.in_flight, units_[i].forward)});
    }
    std::ranges::stable_sort(offers, is_before);
    return offers;
  }

  /// Of the units that are kept: a swap costs the time by which the copies then exceed the computation. As long as some
  /// copies are hidden, the first unit whose copies are hidden too costs nothing, or else a smaller stash saves more
  /// for a second. When none are, a larger one does.
  Offer best_swap() {
    if (!can_swap(budget_)) return {};
    if (copy_time(choice_.swapped(), budget_) >= compute_ + recompute_) return swap_offer(largest_kept());
    Offer best;
    for (std::size_t i = 0; i < units_.size() && !std::isinf(best.per_second); ++i) {
      if (const Offer offer = swap_offer(i); offer.per_second > best.per_second) best = offer;
    }
    return best;
  }

  [[nodiscard]] Offer swap_offer(std::size_t unit) const {
    if (unit == units_.size() || choice_.action(unit) != UnitAction::Keep || units_[unit].stash <= Bytes(0)) return {};
    const Bytes saved = units_[unit].stash * (budget_.in_flight - budget_.resident);
    return {unit, UnitAction::Swap, per_second(saved, copies_with(unit) - compute_ - recompute_)};
  }

  /// The kept unit with the largest stash, or the number of units.
  std::size_t largest_kept() {
    if (by_stash_.empty()) {
      by_stash_.resize(units_.size());
      std::iota(by_stash_.begin(), by_stash_.end(), std::size_t{0});
      std::ranges::stable_sort(by_stash_, std::ranges::greater{}, [&](std::size_t i) { return units_[i].stash; });
    }
    while (largest_ < by_stash_.size() && choice_.action(by_stash_[largest_]) != UnitAction::Keep) ++largest_;
    return largest_ < by_stash_.size() ? by_stash_[largest_] : units_.size();
  }

  [[nodiscard]] Seconds copies_with(std::size_t unit) const {
    return copy_time(choice_.swapped() + units_[unit].stash, budget_);
  }

  std::span<const SavingUnit> units_;
  const StageBudget& budget_;
  SavingChoice choice_;
  Seconds compute_;
  Seconds recompute_;
  std::vector<std::size_t> by_stash_;  ///< the units by decreasing stash, once they are asked for
  std::size_t largest_ = 0;            ///< no unit before this place of by_stash_ is kept
};

}  // namespace

std::vector<Seconds> free_times(std::span<const SavingUnit> units, const StageBudget& budget) {
  std::vector<Seconds> free(units.size());
  Seconds behind = compute_time(units) * static_cast<double>(budget.in_flight - 1);
  for (std::size_t i = units.size(); i-- > 0;) {
    free[i] = behind;
    behind += units[i].forward + units[i].backward;
  }
  return free;
}

std::optional<StageSaving> choose_memory(std::span<const SavingUnit> units, const StageBudget& budget) {
  return MemoryChoice(units, budget).run();
}

}  // namespace stagecraft::dawnpiper
