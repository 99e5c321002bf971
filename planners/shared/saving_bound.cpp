#include "planners/shared/saving_bound.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

constexpr int kWeights = 32;  // of the computation, that are compared: 0, 1/32, 2/32, …, 1

double weight_of(int w) { return static_cast<double>(w) / kWeights; }

double copy_seconds(Bytes bytes, const StageRoom& room) {
  return can_swap(room) ? static_cast<double>(bytes.value()) * (room.half_duplex ? 2.0 : 1.0) / room.bandwidth : 0.0;
}

Bytes all_kept(std::span<const SavingUnit> units, const StageRoom& room) {
  Bytes sum = room.held + largest_workspace(units);
  for (const SavingUnit& unit : units) sum += residency(unit, Saving::Keep, room);
  return sum;
}

/// The cost of saving `lacking` bytes by steps that may be taken in part; infinite if they do not save that much.
double fractional_cost(const std::vector<double>& saved, const std::vector<double>& cost, double lacking) {
  if (lacking <= 0.0) return 0.0;
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(saved, lacking) - saved.begin());
  if (at == saved.size()) return kNever.value();
  const double saved_before = at == 0 ? 0.0 : saved[at - 1];
  const double cost_before = at == 0 ? 0.0 : cost[at - 1];
  return cost_before + (cost[at] - cost_before) * (lacking - saved_before) / (saved[at] - saved_before);
}

}  // namespace

SavingBound::SavingBound(std::span<const SavingUnit> units, const StageRoom& room)
    : units_(units), room_(room), compute_(compute_time(units).value()) {
  const auto lacking = static_cast<double>((all_kept(units, room) - room.capacity).value());
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
    weights_.push_back({weight_of(w), std::vector<Sums>(units.size() + 1)});
  }
  for (Weighted& weighted : weights_) {
    const std::vector<Step> all = steps(weighted.weight);
    for (std::size_t from = 0; from <= units.size(); ++from) {
      double saved = 0.0;
      double cost = 0.0;
      Sums& sums = weighted.from[from];
      for (const Step& step : all) {
        if (step.unit < from) continue;
        sums.saved.push_back(saved += step.saved);
        sums.cost.push_back(cost += step.cost);
      }
    }
  }
}

// A unit's actions lie on a curve of bytes saved and their cost. Only its lower convex hull matters, for between two of
// its corners both actions are taken in part.
std::vector<SavingBound::Step> SavingBound::steps(double weight) const {
  std::vector<Step> all;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const SavingUnit& unit = units_[i];
    std::vector<Step> hull;
    const auto offer = [&](Saving action, double cost) {
      const auto saved =
          static_cast<double>((residency(unit, Saving::Keep, room_) - residency(unit, action, room_)).value());
      if (saved > 0.0) hull.push_back({i, action, saved, cost});
    };
    offer(Saving::Recompute, weight * unit.forward.value());
    if (can_swap(room_)) offer(Saving::Swap, (1.0 - weight) * copy_seconds(unit.stash, room_));
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

Seconds SavingBound::time(std::size_t taken, Bytes lacking, Seconds recompute, Bytes swapped) const {
  const double computed = compute_ + recompute.value();
  const double copied = copy_seconds(swapped, room_);
  double bound = std::max(computed, swapped > Bytes(0) ? copy_time(swapped, room_).value() : 0.0);
  for (const Weighted& weighted : weights_) {
    const Sums& sums = weighted.from[taken];
    bound = std::max(bound, weighted.weight * computed + (1.0 - weighted.weight) * copied +
                                fractional_cost(sums.saved, sums.cost, static_cast<double>(lacking.value())));
  }
  return Seconds(bound);
}

std::optional<SavingPlan> SavingBound::rounded() const {
  std::optional<SavingPlan> best;
  for (int w = 0; w <= kWeights; ++w) {
    SavingChoice choice(units_, room_);
    for (const Step& step : steps(weight_of(w))) {
      if (choice.fits()) break;
      choice.choose(step.unit, step.action);
    }
    if (!choice.fits()) continue;
    choice.keep_again();
    const std::optional<SavingPlan> plan = choice.plan();
    if (!best || plan->time < best->time) best = plan;
  }
  return best;
}

}  // namespace stagecraft
