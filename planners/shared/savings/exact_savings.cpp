#include "planners/shared/savings/exact_savings.hpp"

#include "planners/shared/savings/saving_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::uint32_t kNoParent = static_cast<std::uint32_t>(-1);

/// The actions of the units taken so far, and what they cost.
struct PartialSavings {
  Bytes excess;  ///< of what is resident, with the other units kept, over the capacity
  BackwardNeed need;
  Seconds recompute;
  Bytes swapped;
  UnitAction action = UnitAction::Keep;  ///< of the unit taken last
  std::uint32_t parent = kNoParent;
  Seconds bound;

  [[nodiscard]] Bytes lacking() const { return excess + need.running; }  ///< to be saved by the other units
  /// The most that is lacking behind the next unit that needs `most` at most, with the others kept.
  [[nodiscard]] Bytes lacking_behind(Bytes most) const { return std::max(lacking(), excess - need.freed + most); }
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

/// The choices added so far, of which those count that lack no more behind the units that are left, whatever these do.
/// Few do not lack the same then as now. They are in a binary indexed tree over what they lack, each of whose nodes has
/// those of a run of values; all others lack less than any choice that is added later.
class Staircases {
 public:
  Staircases(const std::vector<PartialSavings>& choices, Bytes most) : most_(most) {
    for (const PartialSavings& choice : choices) {
      if (!is_settled(choice)) values_.push_back(choice.lacking_behind(most));
    }
    std::ranges::sort(values_);
    const auto doubles = std::ranges::unique(values_);
    values_.erase(doubles.begin(), doubles.end());
    runs_.resize(values_.size() + 1);
  }

  [[nodiscard]] bool covers(const PartialSavings& partial) const {
    if (settled_.covers(partial)) return true;
    const auto behind = std::ranges::upper_bound(values_, partial.lacking_behind(most_));
    for (auto run = static_cast<std::size_t>(behind - values_.begin()); run > 0; run &= run - 1) {
      if (runs_[run].covers(partial)) return true;
    }
    return false;
  }

  /// **Requires** a choice that is not covered, and lacks no less now than those before it.
  void add(const PartialSavings& partial) {
    if (is_settled(partial)) return settled_.add(partial);
    const auto at = std::ranges::lower_bound(values_, partial.lacking_behind(most_));
    for (auto run = static_cast<std::size_t>(at - values_.begin()) + 1; run < runs_.size(); run += run & (~run + 1)) {
      if (!runs_[run].covers(partial)) runs_[run].add(partial);
    }
  }

 private:
  [[nodiscard]] bool is_settled(const PartialSavings& partial) const {
    return partial.lacking_behind(most_) == partial.lacking();
  }

  Bytes most_;
  Staircase settled_;
  std::vector<Bytes> values_;
  std::vector<Staircase> runs_;
};

/// Without those that another one makes superfluous: it lacks no more, neither now nor behind the units that are left,
/// of which none needs more than `most`, and takes no more time and copies.
std::vector<PartialSavings> undominated(std::vector<PartialSavings> choices, Bytes most) {
  std::ranges::sort(choices, {}, [&](const PartialSavings& choice) {
    return std::tuple(choice.lacking(), choice.recompute, choice.swapped, choice.lacking_behind(most));
  });
  Staircases before(choices, most);
  std::vector<PartialSavings> kept;
  for (const PartialSavings& choice : choices) {
    if (before.covers(choice)) continue;
    before.add(choice);
    kept.push_back(choice);
  }
  return kept;
}

/// Of each number of units from the first one on, the most that one of them needs.
std::vector<Bytes> largest_needs(std::span<const SavingUnit> units) {
  std::vector<Bytes> largest(units.size() + 1);
  for (std::size_t i = 0; i < units.size(); ++i) largest[i + 1] = std::max(largest[i], restoring(units[i]));
  return largest;
}

/// Takes the units from the last one to the first, as the backward runs them.
class SavingSearch {
 public:
  SavingSearch(std::span<const SavingUnit> units, const StageBudget& budget)
      : budget_(budget), units_(units), bound_(units, budget), largest_need_(largest_needs(units)) {}

  ExactSavings run(const std::optional<StageSaving>& known, std::size_t width) {
    if (known) improve(*known);
    if (std::optional<StageSaving> rounded = bound_.rounded()) improve(std::move(*rounded));
    bool is_exact = true;
    PartialSavings none;
    none.need.running = largest_workspace(units_);
    none.excess = saved_memory(units_, std::vector<UnitAction>(units_.size()), budget_) - none.need.running;
    none.excess -= budget_.capacity;
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
      frontier = continued(undominated(std::move(next), largest_need_[units_.size() - taken - 1]), taken + 1);
    }
    return {best_, is_exact};
  }

 private:
  void improve(StageSaving saving) {
    if (!best_ || saving.time < best_->time) best_ = std::move(saving);
  }

  /// The choices that may become better than the best saving. Those that fit are savings, with the other units kept.
  [[nodiscard]] std::vector<PartialSavings> continued(std::vector<PartialSavings> choices, std::size_t taken) {
    std::vector<PartialSavings> left;
    for (PartialSavings& choice : choices) {
      choice.bound = bound_.time(choice.lacking(), choice.recompute, choice.swapped);
      if (best_ && choice.bound >= best_->time) continue;
      if (choice.lacking() <= Bytes(0)) {
        improve(completed(choice, taken));
      } else if (choice.bound < kNever) {
        left.push_back(choice);
      }
    }
    return left;
  }

  [[nodiscard]] StageSaving completed(const PartialSavings& choice, std::size_t taken) const {
    StageSaving saving{std::vector<UnitAction>(units_.size(), UnitAction::Keep), Seconds(0), Bytes(0)};
    std::size_t unit = units_.size() - taken;
    if (taken > 0) saving.actions[unit++] = choice.action;
    for (std::uint32_t link = choice.parent; unit < units_.size(); link = links_[link].parent) {
      saving.actions[unit++] = links_[link].action;
    }
    saving.time = saved_time(units_, saving.actions, budget_);
    saving.memory = saved_memory(units_, saving.actions, budget_);
    return saving;
  }

  void extend(const PartialSavings& choice, std::size_t taken, std::vector<PartialSavings>& next) {
    const SavingUnit& unit = units_[units_.size() - 1 - taken];
    const auto parent = static_cast<std::uint32_t>(links_.size());
    links_.push_back({choice.parent, choice.action});
    for (const UnitAction action : {UnitAction::Keep, UnitAction::Swap, UnitAction::Recompute}) {
      if (action == UnitAction::Swap && (!can_swap(budget_) || unit.stash == Bytes(0))) continue;
      if (action == UnitAction::Recompute && unit.checkpoint == unit.stash) continue;
      PartialSavings extended = choice;
      extended.action = action;
      extended.parent = parent;
      extended.excess += residency(unit, action, budget_) - residency(unit, UnitAction::Keep, budget_);
      extended.need.take(unit, action);
      if (action == UnitAction::Swap) extended.swapped += unit.stash;
      if (action == UnitAction::Recompute) extended.recompute += unit.forward;
      next.push_back(extended);
    }
  }

  struct Link {
    std::uint32_t parent = kNoParent;
    UnitAction action = UnitAction::Keep;
  };

  StageBudget budget_;
  std::span<const SavingUnit> units_;
  SavingBound bound_;
  std::vector<Bytes> largest_need_;  ///< of each number of first units
  std::vector<Link> links_;          ///< of the choices that were extended
  std::optional<StageSaving> best_;
};

}  // namespace

ExactSavings exact_savings(std::span<const SavingUnit> units, const StageBudget& budget,
                           const std::optional<StageSaving>& known, std::size_t width) {
  return SavingSearch(units, budget).run(known, width);
}

}  // namespace stagecraft
