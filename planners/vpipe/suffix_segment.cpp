#include "planners/vpipe/suffix_segment.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::vpipe {

// What the segment does is decided, so to `find` it is a unit that keeps nothing: its recomputation is a part of its
// backward, its checkpoints are held, and what it needs while it is recomputed is its workspace. The other units cannot
// be recomputed: their checkpoint is all of their stash.
std::optional<StageSaving> suffix_savings(const SavingStage& stage, const FindSavings& find) {
  const Seconds compute = compute_time(stage.units);
  const std::vector<SavingUnit> segments = segments_before(stage, stage.units.size());
  std::optional<StageSaving> best;
  SavingStage rest{stage.units, stage.budget};
  for (SavingUnit& unit : rest.units) unit.checkpoint = unit.stash;
  for (std::size_t recomputed = 0; recomputed <= segments.size(); ++recomputed) {
    const std::size_t left = stage.units.size() - recomputed;
    rest.units.resize(left);
    rest.budget.held = stage.budget.held;
    if (recomputed > 0) {
      const SavingUnit& segment = segments[recomputed - 1];
      if (best && compute + segment.forward >= best->time) return best;
      rest.budget.held += residency(segment, UnitAction::Recompute, stage.budget);
      rest.units.push_back(
          {Seconds(0), segment.backward + segment.forward * 2.0, Bytes(0), Bytes(0), restoring(segment)});
    }
    std::optional<StageSaving> saving = find(rest);
    if (!saving || (best && saving->time >= best->time)) continue;
    saving->actions.resize(left);
    if (recomputed > 0) saving->actions.push_back(UnitAction::Recompute);
    saving->actions.resize(stage.units.size(), UnitAction::Join);
    best = std::move(saving);
  }
  return best;
}

}  // namespace stagecraft::vpipe
