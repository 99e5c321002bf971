#include "planners/shared/savings/least_saving.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// What the units from some unit on take, and need in the backward of a microbatch.
struct LeastSoFar {
  Bytes resident;
  BackwardNeed need;
  [[nodiscard]] Bytes memory() const { return resident + need.running; }
  [[nodiscard]] Bytes before_next() const { return resident - need.freed; }  ///< to which the next unit adds its need

  [[nodiscard]] LeastSoFar with(const SavingUnit& unit, UnitAction action, const StageBudget& budget) const {
    LeastSoFar extended = *this;
    extended.resident += residency(unit, action, budget);
    extended.need.take(unit, action);
    return extended;
  }
};

/// Two neighbours become one that takes no more than either.
std::vector<LeastSoFar> merged(std::vector<LeastSoFar> choices) {
  for (std::size_t i = 0; i + 1 < choices.size(); i += 2) {
    LeastSoFar& both = choices[i / 2] = choices[i];
    both.need.freed = both.resident - choices[i + 1].before_next();
  }
  if (choices.size() % 2 == 1) choices[choices.size() / 2] = choices.back();
  choices.resize((choices.size() + 1) / 2);
  return choices;
}

/// Without those that another one makes superfluous, by increasing memory; merged where many are left.
std::vector<LeastSoFar> least_of(std::vector<LeastSoFar> choices, std::size_t most) {
  std::ranges::sort(choices, {}, [](const LeastSoFar& one) { return std::pair(one.memory(), one.before_next()); });
  std::vector<LeastSoFar> kept;
  for (const LeastSoFar& choice : choices) {
    if (kept.empty() || choice.before_next() < kept.back().before_next()) kept.push_back(choice);
  }
  while (kept.size() > most) kept = merged(std::move(kept));
  return kept;
}

}  // namespace

// Units are taken from the last one to the first. A swap takes no more than keeping, and leaves no less room.
Bytes least_saved_memory(const SavingStage& stage) {
  const std::vector<SavingUnit>& units = stage.units;
  const UnitAction other = can_swap(stage.budget) ? UnitAction::Swap : UnitAction::Keep;
  const std::vector<std::size_t> lengths = segment_lengths(stage);
  const std::size_t most = stage.segments ? kMostNeeds / 10 : kMostNeeds;
  std::vector<std::vector<LeastSoFar>> before(units.size() + 1);  // by unit: the choices for it and those behind it
  before.back() = {{stage.budget.held, {Bytes(0), largest_workspace(units)}}};
  for (std::size_t end = units.size(); end > 0; --end) {
    const std::vector<LeastSoFar> choices = least_of(std::exchange(before[end], {}), most);
    const std::vector<SavingUnit> segments = segments_before(stage, end);
    for (const LeastSoFar& choice : choices) {
      before[end - 1].push_back(choice.with(units[end - 1], other, stage.budget));
      for (const std::size_t length : lengths) {
        if (length > segments.size()) break;
        before[end - length].push_back(choice.with(segments[length - 1], UnitAction::Recompute, stage.budget));
      }
    }
  }
  return least_of(std::move(before.front()), most).front().memory();
}

// While the largest segment is made again, its stash is there. Of what was freed before, and of its checkpoint, another
// copy is resident for each other microbatch in flight. So with g segments, x bytes that are not recomputed, each there
// r times, and T in all, the memory is at least (T - x) / g + (r - 1) x + (K - 1) g c for the smallest checkpoint c.
// From r = 2 on, x = 0 is the least.
Bytes saved_memory_bound(const SavingStage& stage) {
  const StageBudget& budget = stage.budget;
  double stash = 0.0;
  double largest = 0.0;
  double checkpoint = std::numeric_limits<double>::infinity();
  for (const SavingUnit& unit : stage.units) {
    const auto own = static_cast<double>(unit.stash.value());
    stash += own;
    largest = std::max({largest, own, static_cast<double>(unit.workspace.value())});
    checkpoint = std::min(checkpoint, static_cast<double>(unit.checkpoint.value()));
  }
  const std::int64_t copies = can_swap(budget) ? budget.resident : budget.in_flight;
  double least = largest;
  if (copies >= 2) {
    const double each = static_cast<double>(budget.in_flight - 1) * checkpoint;
    const auto most = static_cast<double>(stage.units.size());
    const double segments = each > 0.0 ? std::clamp(std::sqrt(stash / each), 1.0, most) : most;
    const double recomputed = stash / segments + each * segments;
    least = std::max(least, std::min(recomputed, stash * static_cast<double>(copies)));
  }
  return budget.held + Bytes(static_cast<std::int64_t>(least));
}

}  // namespace stagecraft
