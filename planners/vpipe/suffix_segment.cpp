#include "planners/vpipe/suffix_segment.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace stagecraft::vpipe {

SavingUnit joined(std::span<const SavingUnit> units) {
  SavingUnit all;
  for (const SavingUnit& unit : units) {
    all.forward += unit.forward;
    all.backward += unit.backward;
    all.stash += unit.stash;
    all.workspace = std::max(all.workspace, unit.workspace);
  }
  all.checkpoint = units.front().checkpoint;
  return all;
}

// What the segment does is decided, so to `find` it is a unit that keeps nothing: its recomputation is a part of its
// backward, its checkpoints are held, and what it needs while it is recomputed is its workspace. The other units cannot
// be recomputed: their checkpoint is all of their stash.
std::optional<StageSaving> suffix_savings(std::span<const SavingUnit> units, const StageBudget& budget,
                                          const FindSavings& find) {
  std::optional<StageSaving> best;
  std::vector<SavingUnit> others(units.begin(), units.end());
  for (SavingUnit& unit : others) unit.checkpoint = unit.stash;
  for (std::size_t recomputed = 0; recomputed <= units.size(); ++recomputed) {
    const std::size_t left = units.size() - recomputed;
    others.resize(left);
    StageBudget rest = budget;
    if (recomputed > 0) {
      const SavingUnit segment = joined(units.subspan(left));
      if (best && compute_time(units) + segment.forward >= best->time) return best;
      rest.held += residency(segment, UnitAction::Recompute, budget);
      others.push_back({Seconds(0), segment.backward + segment.forward * 2.0, Bytes(0), Bytes(0), restoring(segment)});
    }
    std::optional<StageSaving> saving = find(others, rest);
    if (!saving || (best && saving->time >= best->time)) continue;
    saving->actions.resize(left);
    saving->actions.resize(units.size(), UnitAction::Recompute);
    best = std::move(saving);
  }
  return best;
}

}  // namespace stagecraft::vpipe
