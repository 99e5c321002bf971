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
constexpr std::size_t kCrowd = 4;  ///< times as many choices as are followed get a bound

/// Each choice of a stage with segments leads to as many as there are units.
std::size_t segment_width(std::size_t width, std::size_t units) {
  constexpr std::size_t kLeast = 16;
  return std::clamp(10 * width / (units * units), std::min(kLeast, width), width);
}

/// The actions of the units taken so far, and what they cost.
struct PartialSavings {
  Bytes excess;  ///< of what is resident, with the other units kept, over the capacity
  BackwardNeed need;
  Seconds recompute;
  Bytes swapped;
  UnitAction action = UnitAction::Keep;  ///< of the units taken last
  std::uint32_t length = 0;              ///< how many these are
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
    if (is_settled(partial)) {
      settled_.add(partial);
      return;
    }
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

/// Of each number of first units: the most that one of them needs, or a segment of them.
std::vector<Bytes> largest_needs(const SavingStage& stage) {
  std::vector<Bytes> largest(stage.units.size() + 1);
  Bytes stash;
  Bytes workspace;
  for (std::size_t i = 0; i < stage.units.size(); ++i) {
    const SavingUnit& unit = stage.units[i];
    stash += unit.stash;
    workspace = std::max(workspace, unit.workspace);
    largest[i + 1] = stage.segments ? stash + workspace : std::max(largest[i], restoring(unit));
  }
  return largest;
}

/// Of each number of first units: the most memory that they can save.
std::vector<Bytes> most_savings(const SavingStage& stage) {
  std::vector<Bytes> most(stage.units.size() + 1);
  for (std::size_t i = 0; i < stage.units.size(); ++i) {
    const bool may_join = stage.segments && i > 0;
    const Bytes recomputed = stage.units[i].stash - (may_join ? Bytes(0) : stage.units[i].checkpoint);
    const Bytes swapped = can_swap(stage.budget) ? stage.units[i].stash : Bytes(0);
    most[i + 1] = most[i] + std::max(recomputed * stage.budget.in_flight,
                                     swapped * (stage.budget.in_flight - stage.budget.resident));
  }
  return most;
}

/// Takes the units from the last one to the first, as the backward runs them.
class SavingSearch {
 public:
  explicit SavingSearch(const SavingStage& stage)
      : stage_(stage),
        bound_(stage),
        compute_(compute_time(stage.units)),
        largest_need_(largest_needs(stage)),
        lengths_(segment_lengths(stage)),
        most_saved_(most_savings(stage)),
        waiting_(stage.units.size() + 1) {}

  ExactSavings run(const std::optional<StageSaving>& known, std::size_t width) {
    if (stage_.segments) width = segment_width(width, stage_.units.size());
    if (known) improve(*known);
    if (std::optional<StageSaving> rounded = bound_.rounded()) improve(std::move(*rounded));
    bool is_exact = lengths_.size() == (stage_.segments ? stage_.units.size() : 1);
    PartialSavings none;
    none.need.running = largest_workspace(stage_.units);
    none.excess = saved_memory(stage_, std::vector<UnitAction>(stage_.units.size())) - none.need.running;
    none.excess -= stage_.budget.capacity;
    waiting_.back().push_back(none);
    for (std::size_t left = stage_.units.size();; --left) {
      std::vector<PartialSavings> choices = std::exchange(waiting_[left], {});
      if (choices.size() > kCrowd * width) {
        is_exact = false;
        thin(choices, kCrowd * width);
      }
      choices = continued(undominated(std::move(choices), largest_need_[left]), left);
      if (left == 0) return {best_, is_exact};
      if (choices.size() > width) {
        is_exact = false;
        narrow(choices, width);
      }
      if (!choices.empty()) extend(choices, left);
      bound_.take_next();
    }
  }

 private:
  void improve(StageSaving saving) {
    if (!best_ || saving.time < best_->time) best_ = std::move(saving);
  }

  /// The choices that may become better than the best saving. Those that fit are savings, with the other units kept.
  [[nodiscard]] std::vector<PartialSavings> continued(std::vector<PartialSavings> choices, std::size_t left) {
    std::vector<PartialSavings> open;
    for (PartialSavings& choice : choices) {
      choice.bound = bound_.time(choice.lacking(), choice.recompute, choice.swapped);
      if (best_ && choice.bound >= best_->time) continue;
      if (choice.lacking() <= Bytes(0)) {
        improve(completed(choice, left));
      } else if (choice.bound < kNever) {
        open.push_back(choice);
      }
    }
    return open;
  }

  /// Half of those that are kept recompute least for what they save, and half of them lack least. That is known before
  /// their bounds.
  void thin(std::vector<PartialSavings>& choices, std::size_t width) const {
    const double price = compute_.value() / static_cast<double>(std::max(most_saved_.back(), Bytes(1)).value());
    keep_halves(choices, width, [price](const PartialSavings& choice) {
      return choice.recompute.value() + static_cast<double>(choice.lacking().value()) * price;
    });
  }

  /// Half of those that are kept have the smallest bounds, and half of them lack least.
  static void narrow(std::vector<PartialSavings>& choices, std::size_t width) {
    keep_halves(choices, width, [](const PartialSavings& choice) { return choice.bound; });
  }

  template <class Cost>
  static void keep_halves(std::vector<PartialSavings>& choices, std::size_t width, const Cost& cost) {
    const auto middle = choices.begin() + static_cast<std::ptrdiff_t>((width + 1) / 2);
    const auto end = choices.begin() + static_cast<std::ptrdiff_t>(width);
    std::ranges::nth_element(choices, middle, {}, cost);
    std::ranges::nth_element(middle, end, choices.end(), {}, &PartialSavings::lacking);
    choices.resize(width);
  }

  [[nodiscard]] StageSaving completed(const PartialSavings& choice, std::size_t left) const {
    StageSaving saving{std::vector<UnitAction>(left, UnitAction::Keep), Seconds(0), Bytes(0)};
    const auto append = [&](UnitAction action, std::uint32_t length) {
      for (std::uint32_t i = 0; i < length; ++i) saving.actions.push_back(i == 0 ? action : UnitAction::Join);
    };
    append(choice.action, choice.length);
    for (std::uint32_t link = choice.parent; link != kNoParent; link = links_[link].parent) {
      append(links_[link].action, links_[link].length);
    }
    saving.time = saved_time(stage_.units, saving.actions, stage_.budget);
    saving.memory = saved_memory(stage_, saving.actions);
    return saving;
  }

  /// Takes the next unit in each way, and each segment that ends with it.
  void extend(const std::vector<PartialSavings>& choices, std::size_t left) {
    const SavingUnit& unit = stage_.units[left - 1];
    const std::vector<SavingUnit> segments = segments_before(stage_, left);
    for (const PartialSavings& choice : choices) {
      parent_ = kNoParent;
      if (choice.length > 0) {
        parent_ = static_cast<std::uint32_t>(links_.size());
        links_.push_back({choice.parent, choice.length, choice.action});
      }
      take(choice, unit, UnitAction::Keep, 1, left);
      if (can_swap(stage_.budget) && unit.stash > Bytes(0)) take(choice, unit, UnitAction::Swap, 1, left);
      for (const std::size_t length : lengths_) {
        if (length > segments.size()) break;
        const SavingUnit& segment = segments[length - 1];
        if (segment.checkpoint < segment.stash) take(choice, segment, UnitAction::Recompute, length, left);
      }
    }
  }

  void take(const PartialSavings& choice, const SavingUnit& unit, UnitAction action, std::size_t length,
            std::size_t left) {
    PartialSavings extended = choice;
    extended.action = action;
    extended.length = static_cast<std::uint32_t>(length);
    extended.parent = parent_;
    extended.excess += residency(unit, action, stage_.budget) - residency(unit, UnitAction::Keep, stage_.budget);
    extended.need.take(unit, action);
    if (action == UnitAction::Swap) extended.swapped += unit.stash;
    if (action == UnitAction::Recompute) extended.recompute += unit.forward;
    if (extended.lacking() > most_saved_[left - length]) return;
    if (best_ && compute_ + extended.recompute >= best_->time) return;
    waiting_[left - length].push_back(extended);
  }

  struct Link {
    std::uint32_t parent = kNoParent;
    std::uint32_t length = 0;
    UnitAction action = UnitAction::Keep;
  };

  const SavingStage& stage_;
  SavingBound bound_;
  Seconds compute_;
  std::vector<Bytes> largest_need_;                   ///< of each number of first units
  std::vector<std::size_t> lengths_;                  ///< of segments
  std::vector<Bytes> most_saved_;                     ///< likewise
  std::vector<std::vector<PartialSavings>> waiting_;  ///< by the number of units that are left
  std::vector<Link> links_;                           ///< of the choices that were extended
  std::uint32_t parent_ = kNoParent;                  ///< of the choices that are made by `take`
  std::optional<StageSaving> best_;
};

}  // namespace

ExactSavings exact_savings(const SavingStage& stage, const std::optional<StageSaving>& known, std::size_t width) {
  return SavingSearch(stage).run(known, width);
}

}  // namespace stagecraft
