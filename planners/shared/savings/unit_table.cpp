#include "planners/shared/savings/unit_table.hpp"

#include "planners/shared/savings/layer_likeness.hpp"

#include <algorithm>

namespace stagecraft {

// Planners ask for each stage with many choices of its cuts. What a stage keeps is not the sum of its layers' stashes,
// since a tensor that several layers keep counts once in a stage. It counts at the last of them, where the walk of
// `stage_program` from the last layer to the first meets it. So what a unit keeps depends on the stage in one way only:
// on whether there are users and keepers, before the unit and behind it, of each tensor that its layers use or make.
//
// **Invariant**: if the stage has the nearest of these in the whole network (`Known::within`), the answers are the same
// as there, and the unit's figures are those that have been found once. Only for a unit near a cut, or one that the cut
// divides, are they found anew, for the part that the stage has. If all units of a stage are kept, their stashes add up
// to what the ledger counts.

namespace {

using Run = UnitTable::Run;

Run hull(const Run& one, const Run& other) { return {std::min(one.begin, other.begin), std::max(one.end, other.end)}; }

Run common(const Run& one, const Run& other) {
  return {std::max(one.begin, other.begin), std::min(one.end, other.end)};
}

}  // namespace

UnitTable::UnitTable(const LayerGraph& graph, const std::vector<LayerId>& order, const std::vector<std::size_t>& bounds)
    : figures_(graph, order), bounds_(bounds), likeness_(layer_likeness(graph, order)), runs_(bounds.size() - 1) {
  for (std::uint32_t& each : likeness_) each *= 2;
  for (std::size_t unit = 0; unit + 1 < bounds_.size(); ++unit) ++likeness_[bounds_[unit]];  // which begins a unit
  for (std::size_t at = 0; at < bounds_.back(); ++at) reaches_.push_back(figures_.reach(at));
  for (std::size_t unit = 0; unit + 1 < bounds_.size(); ++unit) units_.push_back(runs_before(unit, 1, whole()).front());
}

std::optional<SavingUnit> UnitTable::Known::in(const Run& stage, std::size_t begin) const {
  if (within.end > stage.end) return std::nullopt;
  if (begin == stage.begin) return figures.first;
  return within.begin < stage.begin ? std::nullopt : std::optional(figures.inner);
}

std::size_t UnitTable::unit_at(std::size_t layer) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(bounds_, layer) - bounds_.begin()) - 1;
}

std::vector<SavingUnit> UnitTable::units(const Run& stage) const {
  std::vector<SavingUnit> units;
  for (std::size_t at = unit_at(stage.begin); at < units_.size() && bounds_[at] < stage.end; ++at) {
    const std::optional<SavingUnit> known = units_[at].in(stage, bounds_[at]);
    units.push_back(known ? *known : figures_.unit(common({bounds_[at], bounds_[at + 1]}, stage), stage));
  }
  return units;
}

Run UnitTable::layers(const Run& stage, std::size_t unit) const {
  const std::size_t at = unit_at(stage.begin) + unit;
  return common({bounds_[at], bounds_[at + 1]}, stage);
}

std::span<const std::uint32_t> UnitTable::likeness(const Run& stage) const {
  return std::span(likeness_).subspan(stage.begin, stage.end - stage.begin);
}

/// So many, if there are.
std::vector<UnitTable::Known> UnitTable::runs_before(std::size_t unit, std::size_t count, const Run& stage) const {
  std::vector<std::size_t> begins;
  for (std::size_t at = unit + 1; at > 0 && begins.size() < count; --at) begins.push_back(bounds_[at - 1]);
  std::vector<Known> runs;
  std::size_t at = bounds_[unit + 1];
  Run within{at, at};
  for (const StageUnits::RunUnit& figures : figures_.units_before(at, begins, stage)) {
    while (at > begins[runs.size()]) {
      --at;
      within = common(hull(within, hull({at, at + 1}, reaches_[at])), stage);
    }
    runs.push_back({within, figures});
  }
  return runs;
}

/// Keeps twice as many as are asked for, so that the work for all counts is that for the largest.
std::vector<SavingUnit> UnitTable::segments(const Run& stage, std::size_t begin, std::size_t end) {
  const std::size_t last = unit_at(stage.begin) + end - 1;
  const std::size_t behind = bounds_[last + 1];
  const bool is_at_end = behind == stage.end;
  std::vector<Known>& runs = is_at_end ? runs_[last].at_end : runs_[last].inside;
  if (runs.size() < end - begin) runs = runs_before(last, 2 * (end - begin), {0, is_at_end ? behind : whole().end});
  std::vector<SavingUnit> segments;
  for (std::size_t i = 0; i < end - begin; ++i) {
    const std::optional<SavingUnit> known = runs[i].in(stage, bounds_[last - i]);
    if (!known) break;
    segments.push_back(*known);
  }
  if (segments.size() == end - begin) return segments;
  std::vector<std::size_t> begins;
  for (std::size_t unit = end; unit-- > begin;) begins.push_back(layers(stage, unit).begin);
  segments.clear();
  for (const StageUnits::RunUnit& run : figures_.units_before(layers(stage, end - 1).end, begins, stage)) {
    segments.push_back(run.inner);
  }
  return segments;
}

}  // namespace stagecraft
