#include "planners/shared/savings/segment_rules.hpp"

#include "planners/shared/savings/least_saving.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// Of the segments that end at the same unit, the shortest first: the one with the least checkpoint of those whose
/// stash is within a quarter of `stash`, of equals the longest; without any, the first that has as much.
std::size_t best_length(const std::vector<SavingUnit>& segments, double stash) {
  std::size_t best = segments.size() - 1;
  for (std::size_t i = segments.size(); i-- > 0;) {
    const auto own = static_cast<double>(segments[i].stash.value());
    if (own >= 0.75 * stash && own <= 1.25 * stash) {
      const auto own_best = static_cast<double>(segments[best].stash.value());
      if (own_best > 1.25 * stash || segments[i].checkpoint < segments[best].checkpoint) best = i;
    } else if (own > 1.25 * stash) {
      best = i;
    }
  }
  return best + 1;
}

/// From the last one to the first.
UnitRuns runs_of(const SavingStage& stage, double stash) {
  UnitRuns runs{{stage.units.size()}, {}};
  while (runs.begins.back() > 0) {
    const std::size_t end = runs.begins.back();
    std::size_t begin = end;
    Bytes sum;
    while (begin > 0 && static_cast<double>(sum.value()) < 1.25 * stash) sum += stage.units[--begin].stash;
    const std::vector<SavingUnit> segments = stage.segments(begin, end);
    const std::size_t length = best_length(segments, stash);
    runs.units.push_back(segments[length - 1]);
    runs.begins.push_back(end - length);
  }
  std::ranges::reverse(runs.begins);
  std::ranges::reverse(runs.units);
  return runs;
}

/// The actions of the runs, for each unit.
StageSaving for_each_unit(const UnitRuns& runs, StageSaving saving) {
  std::vector<UnitAction> actions;
  for (std::size_t run = 0; run < runs.units.size(); ++run) {
    const UnitAction action = saving.actions[run];
    actions.push_back(action);
    actions.resize(runs.begins[run + 1], action == UnitAction::Recompute ? UnitAction::Join : action);
  }
  saving.actions = std::move(actions);
  return saving;
}

/// 1, 2, 3, 4, 6, 8, 12, … below `most`.
std::vector<std::size_t> counts_below(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t count = 1; count < most; count *= 2) {
    counts.push_back(count);
    if (count > 1 && count + count / 2 < most) counts.push_back(count + count / 2);
  }
  return counts;
}

/// Whatever its segments are.
bool cannot_fit(const SavingStage& stage) {
  return stage.segments && saved_memory_bound(stage) > stage.budget.capacity;
}

}  // namespace

void for_divisions(const SavingStage& stage, const std::function<bool(UnitRuns)>& is_enough) {
  if (!stage.segments) return;
  double stash = 0.0;
  for (const SavingUnit& unit : stage.units) stash += static_cast<double>(unit.stash.value());
  std::vector<std::size_t> counts = counts_below(stage.units.size());
  std::ranges::reverse(counts);
  std::size_t before = stage.units.size();
  for (std::size_t count : counts) {
    UnitRuns runs = runs_of(stage, stash / static_cast<double>(count));
    if (std::exchange(before, runs.units.size()) == runs.units.size()) continue;
    if (is_enough(std::move(runs))) return;
  }
}

std::optional<StageSaving> by_rule_with_segments(const SavingStage& stage, const SavingRule& rule) {
  std::optional<StageSaving> best = rule(stage.units, stage.budget);
  if (best ? !recomputes(*best) : cannot_fit(stage)) return best;
  for_divisions(stage, [&](const UnitRuns& runs) {
    std::optional<StageSaving> found = rule(runs.units, stage.budget);
    if (found && (!best || found->time < best->time)) best = for_each_unit(runs, *std::move(found));
    return false;
  });
  return best;
}

bool fits_divided(const SavingStage& stage) {
  bool fits = least_saved_memory({stage.units, stage.budget}) <= stage.budget.capacity;
  for_divisions(stage, [&](UnitRuns runs) {
    fits = fits || least_saved_memory({std::move(runs.units), stage.budget}) <= stage.budget.capacity;
    return fits;
  });
  return fits;
}

}  // namespace stagecraft
