#include "planners/shared/savings/saving_bound.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace stagecraft {

// The time of a stage is the larger of its computation and its copies, so it is at least w times the one plus 1 - w
// times the other, for each w from 0 to 1. With w fixed, an action has a price of its own, whatever the others are: w
// times the forward that is run again, or 1 - w times the copy. To save the lacking bytes at the least price, where
// actions may be taken in part, is to take steps in the order of their price for a byte. Any w gives a bound, so the
// largest of a few is one: those near the one that is best when no unit is taken, and w = 1.
//
// **Invariant**: `saved` and `cost` are the sums up to each step, correct before position `summed`. A unit that is
// taken leaves the steps by saving and costing nothing, so `drop` only moves `summed` back to its first step, and
// `fractional_cost` adds up again what it needs. The steps of one unit are the edges of its lower convex hull, so the
// second is no cheaper for a byte than the first, and comes behind it.

namespace {

constexpr int kWeights = 32;  // of the computation, that are compared: 0, 1/32, 2/32, …, 1

double weight_of(int w) { return static_cast<double>(w) / kWeights; }

double copy_seconds(Bytes bytes, const StageBudget& budget) {
  return can_swap(budget) ? static_cast<double>(bytes.value()) * (budget.half_duplex ? 2.0 : 1.0) / budget.bandwidth
                          : 0.0;
}

/// A segment keeps at least the smallest checkpoint of its units, and is smaller than the memory that the stage has for
/// units: what was freed before it runs was resident, too. So each of its units adds at least the part of that
/// checkpoint that its stash is of this memory.
std::vector<double> least_checkpoints(const SavingStage& stage) {
  std::vector<double> least;
  for (const SavingUnit& unit : stage.units) least.push_back(static_cast<double>(unit.checkpoint.value()));
  if (!stage.segments) return least;
  const double smallest = *std::ranges::min_element(least);
  const auto room = static_cast<double>((stage.budget.capacity - stage.budget.held).value());
  for (std::size_t i = 0; i < least.size(); ++i) {
    const double part = static_cast<double>(stage.units[i].stash.value()) / std::max(room, 1.0);
    least[i] = smallest * std::min(part, 1.0);
  }
  return least;
}

}  // namespace

SavingBound::SavingBound(const SavingStage& stage)
    : stage_(stage), checkpoints_(least_checkpoints(stage)), compute_(compute_time(stage.units).value()) {
  const std::vector<UnitAction> all_kept(stage.units.size(), UnitAction::Keep);
  const auto lacking = static_cast<double>((saved_memory(stage, all_kept) - stage.budget.capacity).value());
  int best = 0;
  double largest = 0.0;
  for (int w = 0; w <= kWeights; ++w) {
    const double bound = root_bound(weight_of(w), lacking);
    if (bound > largest) best = w;
    largest = std::max(largest, bound);
  }
  std::set<int> compared;
  for (const int w : {best - 4, best - 1, best, best + 1, best + 4, kWeights}) {
    compared.insert(std::clamp(w, 0, kWeights));
  }
  for (const int w : compared) {
    Weighted& weighted = weights_.emplace_back(Weighted{weight_of(w), steps(weight_of(w)), {}, {}, {}});
    weighted.saved.resize(weighted.steps.size());
    weighted.cost.resize(weighted.steps.size());
    weighted.of_unit.assign(stage.units.size(), {kNoStep, kNoStep});
    for (std::uint32_t at = 0; at < weighted.steps.size(); ++at) {
      auto& [first, last] = weighted.of_unit[weighted.steps[at].unit];
      if (first == kNoStep) first = at;
      last = at;
    }
  }
}

void SavingBound::take_next() {
  ++taken_;
  for (Weighted& weighted : weights_) drop(weighted, stage_.units.size() - taken_);
}

void SavingBound::drop(Weighted& weighted, std::size_t unit) {
  for (const std::uint32_t at : weighted.of_unit[unit]) {
    if (at == kNoStep) return;
    weighted.steps[at].saved = weighted.steps[at].cost = 0.0;
    weighted.summed = std::min<std::size_t>(weighted.summed, at);
  }
}

/// The cost of saving `lacking` bytes by steps that may be taken in part; infinite if they do not save that much. Steps
/// are always added in their order, so that equal units have equal sums.
double SavingBound::fractional_cost(Weighted& weighted, double lacking) {
  if (lacking <= 0.0) return 0.0;
  double saved_before = weighted.summed > 0 ? weighted.saved[weighted.summed - 1] : 0.0;
  double cost_before = weighted.summed > 0 ? weighted.cost[weighted.summed - 1] : 0.0;
  for (std::size_t& at = weighted.summed; at < weighted.steps.size() && saved_before < lacking; ++at) {
    weighted.saved[at] = saved_before += weighted.steps[at].saved;
    weighted.cost[at] = cost_before += weighted.steps[at].cost;
  }
  if (saved_before < lacking) return kNever.value();
  // The first step that is enough; it saves something, so it is no step of a unit that was taken.
  const auto summed = weighted.saved.begin() + static_cast<std::ptrdiff_t>(weighted.summed);
  const auto at =
      static_cast<std::size_t>(std::lower_bound(weighted.saved.begin(), summed, lacking) - weighted.saved.begin());
  saved_before = at == 0 ? 0.0 : weighted.saved[at - 1];
  cost_before = at == 0 ? 0.0 : weighted.cost[at - 1];
  return cost_before +
         (weighted.cost[at] - cost_before) * (lacking - saved_before) / (weighted.saved[at] - saved_before);
}

// A unit's actions lie on a curve of bytes saved and their cost. Only its lower convex hull matters, for between two of
// its corners both actions are taken in part.
std::vector<SavingBound::Step> SavingBound::steps(double weight) const {
  const auto in_flight = static_cast<double>(stage_.budget.in_flight);
  const auto resident = static_cast<double>(stage_.budget.resident);
  std::vector<Step> all;
  for (std::size_t i = 0; i < stage_.units.size(); ++i) {
    const SavingUnit& unit = stage_.units[i];
    std::vector<Step> hull;
    const auto stash = static_cast<double>(unit.stash.value());
    const auto offer = [&](UnitAction action, double saved, double cost) {
      if (saved > 0.0) hull.push_back({i, action, saved, cost});
    };
    offer(UnitAction::Recompute, (stash - checkpoints_[i]) * in_flight, weight * unit.forward.value());
    if (can_swap(stage_.budget)) {
      offer(UnitAction::Swap, stash * (in_flight - resident), (1.0 - weight) * copy_seconds(unit.stash, stage_.budget));
    }
    if (hull.size() == 2) {
      const auto slope = [](const Step& step) { return step.cost / step.saved; };
      if (slope(hull[1]) < slope(hull[0])) std::swap(hull[0], hull[1]);
      const Step more{i, hull[1].action, hull[1].saved - hull[0].saved, hull[1].cost - hull[0].cost};
      hull.pop_back();
      if (more.saved > 0.0) hull.push_back(more);
    }
    all.insert(all.end(), hull.begin(), hull.end());
  }
  std::ranges::stable_sort(all, [](const Step& a, const Step& b) { return a.cost * b.saved < b.cost * a.saved; });
  return all;
}

double SavingBound::root_bound(double weight, double lacking) const {
  double cost = weight * compute_;
  for (const Step& step : steps(weight)) {
    if (lacking <= 0.0) break;
    cost += step.cost * std::min(1.0, lacking / step.saved);
    lacking -= step.saved;
  }
  return cost;
}

Seconds SavingBound::time(Bytes lacking, Seconds recompute, Bytes swapped) {
  const double computed = compute_ + recompute.value();
  const double copied = copy_seconds(swapped, stage_.budget);
  double bound = std::max(computed, swapped > Bytes(0) ? copy_time(swapped, stage_.budget).value() : 0.0);
  for (Weighted& weighted : weights_) {
    bound = std::max(bound, weighted.weight * computed + (1.0 - weighted.weight) * copied +
                                fractional_cost(weighted, static_cast<double>(lacking.value())));
  }
  return Seconds(bound);
}

std::optional<StageSaving> SavingBound::rounded() const {
  std::optional<StageSaving> best;
  for (int w = 0; w <= kWeights; ++w) {
    SavingChoice choice(stage_.units, stage_.budget);
    for (const Step& step : steps(weight_of(w))) {
      if (choice.fits()) break;
      choice.choose(step.unit, step.action);
    }
    if (!choice.fits()) continue;
    choice.keep_again();
    const std::optional<StageSaving> saving = choice.saving();
    if (!best || saving->time < best->time) best = saving;
  }
  return best;
}

}  // namespace stagecraft
