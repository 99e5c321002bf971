#include "planners/shared/savings/exact_savings.hpp"

#include "planners/shared/savings/saving_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::uint32_t kNoParent = static_cast<std::uint32_t>(-1);

/// The actions of the units taken so far, and what they cost.
struct PartialSavings {
  Bytes lacking;  ///< to be saved by the other units, with what the first recomputed one needs while it runs
  Seconds recompute;
  Bytes swapped;
  bool recomputes = false;
  UnitAction action = UnitAction::Keep;  ///< of the unit taken last
  std::uint32_t parent = kNoParent;
  Seconds bound;
};

/// The least swapped bytes for each recomputation, and less for more of it.
class Staircase {
 public:
  /// Whether an entry has neither more recomputation nor more swapped bytes.
  [[nodiscard]] bool covers(const PartialSavings& partial) const {
    const auto after = least_.upper_bound(partial.recompute);
    return after != least_.begin() && std::prev(after)->second <= partial.swapped;
  }

  /// **Requires** an entry that is not covered.
  void add(const PartialSavings& partial) {
    auto at = least_.insert_or_assign(partial.recompute, partial.swapped).first;
    for (++at; at != least_.end() && at->second >= partial.swapped;) at = least_.erase(at);
  }

 private:
  std::map<Seconds, Bytes> least_;
};

std::vector<std::size_t> by_decreasing_need(std::span<const SavingUnit> units) {
  std::vector<std::size_t> order(units.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return restoring(units[a]) > restoring(units[b]); });
  return order;
}

template <class Value>
std::vector<Value> in_order(std::span<const Value> values, const std::vector<std::size_t>& order) {
  std::vector<Value> ordered;
  for (const std::size_t i : order) ordered.push_back(values[i]);
  return ordered;
}

/// A choice that recomputes covers one that does not, for its next recomputed unit needs less memory.
std::vector<PartialSavings> undominated(std::vector<PartialSavings> choices) {
  std::ranges::sort(choices, {}, [](const PartialSavings& choice) {
    return std::tuple(choice.lacking, choice.recompute, choice.swapped, !choice.recomputes);
  });
  std::vector<PartialSavings> kept;
  Staircase any;
  Staircase recomputing;
  for (const PartialSavings& choice : choices) {
    if (choice.recomputes ? recomputing.covers(choice) : any.covers(choice)) continue;
    if (!any.covers(choice)) any.add(choice);
    if (choice.recomputes) recomputing.add(choice);
    kept.push_back(choice);
  }
  return kept;
}

/// Takes the units by decreasing need while they are recomputed. So only the first recomputed one adds to the memory of
/// what runs.
class SavingSearch {
 public:
  SavingSearch(std::span<const SavingUnit> given, const StageBudget& budget)
      : budget_(budget), order_(by_decreasing_need(given)), units_(in_order(given, order_)), bound_(units_, budget) {}

  ExactSavings run(const std::optional<StageSaving>& known, std::size_t width) {
    if (known) improve({in_order<UnitAction>(known->actions, order_), known->time, known->memory});
    if (std::optional<StageSaving> rounded = bound_.rounded()) improve(std::move(*rounded));
    bool is_exact = true;
    PartialSavings none;
    none.lacking = saved_memory(units_, std::vector<UnitAction>(units_.size()), budget_) - budget_.capacity;
    std::vector<PartialSavings> frontier = continued({none}, 0);
    for (std::size_t taken = 0; !frontier.empty(); ++taken) {
      if (frontier.size() > width) {
        is_exact = false;
        std::ranges::nth_element(frontier, frontier.begin() + static_cast<std::ptrdiff_t>(width), {},
                                 &PartialSavings::bound);
        frontier.resize(width);
      }
      std::vector<PartialSavings> next;
      for (const PartialSavings& choice : frontier) extend(choice, taken, next);
      bound_.take_next();
      frontier = continued(undominated(std::move(next)), taken + 1);
    }
    return {in_given_order(), is_exact};
  }

 private:
  void improve(StageSaving saving) {
    if (!best_ || saving.time < best_->time) best_ = std::move(saving);
  }

  /// The choices that may become better than the best saving. Those that fit are savings, with the other units kept.
  [[nodiscard]] std::vector<PartialSavings> continued(std::vector<PartialSavings> choices, std::size_t taken) {
    std::vector<PartialSavings> left;
    for (PartialSavings& choice : choices) {
      choice.bound = bound_.time(choice.lacking, choice.recompute, choice.swapped);
      if (best_ && choice.bound >= best_->time) continue;
      if (choice.lacking <= Bytes(0)) {
        improve(completed(choice, taken));
      } else if (choice.bound < kNever) {
        left.push_back(choice);
      }
    }
    return left;
  }

  [[nodiscard]] StageSaving completed(const PartialSavings& choice, std::size_t taken) const {
    StageSaving saving{std::vector<UnitAction>(units_.size(), UnitAction::Keep), Seconds(0), Bytes(0)};
    if (taken > 0) saving.actions[--taken] = choice.action;
    for (std::uint32_t link = choice.parent; taken > 0; link = links_[link].parent) {
      saving.actions[--taken] = links_[link].action;
    }
    saving.time = saved_time(units_, saving.actions, budget_);
    saving.memory = saved_memory(units_, saving.actions, budget_);
    return saving;
  }

  [[nodiscard]] std::optional<StageSaving> in_given_order() const {
    std::optional<StageSaving> saving = best_;
    for (std::size_t at = 0; saving && at < order_.size(); ++at) saving->actions[order_[at]] = best_->actions[at];
    return saving;
  }

  void extend(const PartialSavings& choice, std::size_t taken, std::vector<PartialSavings>& next) {
    const SavingUnit& unit = units_[taken];
    const auto parent = static_cast<std::uint32_t>(links_.size());
    links_.push_back({choice.parent, choice.action});
    for (const UnitAction action : {UnitAction::Keep, UnitAction::Swap, UnitAction::Recompute}) {
      if (action == UnitAction::Swap && !can_swap(budget_)) continue;
      PartialSavings extended = choice;
      extended.action = action;
      extended.parent = parent;
      extended.lacking += residency(unit, action, budget_) - residency(unit, UnitAction::Keep, budget_);
      if (action == UnitAction::Swap) extended.swapped += unit.stash;
      if (action == UnitAction::Recompute) {
        extended.recompute += unit.forward;
        if (!choice.recomputes) extended.lacking += std::max(restoring(unit) - workspace_, Bytes(0));
        extended.recomputes = true;
      }
      next.push_back(extended);
    }
  }

  struct Link {
    std::uint32_t parent = kNoParent;
    UnitAction action = UnitAction::Keep;
  };

  StageBudget budget_;
  std::vector<std::size_t> order_;
  std::vector<SavingUnit> units_;
  SavingBound bound_;
  Bytes workspace_ = largest_workspace(units_);
  std::vector<Link> links_;  ///< of the choices that were extended
  std::optional<StageSaving> best_;
};

}  // namespace

ExactSavings exact_savings(std::span<const SavingUnit> units, const StageBudget& budget,
                           const std::optional<StageSaving>& known, std::size_t width) {
  return SavingSearch(units, budget).run(known, width);
}

}  // namespace stagecraft
