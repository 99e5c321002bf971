#pragma once

#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/stage_units.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// The units for which actions are chosen in the stages of a network: runs of an order of its layers, or the parts of
/// them that a stage has. Their figures are on the profile's device, and most of them are found only once.
class UnitTable {
 public:
  using Run = StageUnits::Run;

  /// The graph must outlive it. **Requires** a topological order of all layers, and where the units begin and the last
  /// one ends. **Cost** O(layers and tensors of the graph, with a logarithm of the latter).
  UnitTable(const LayerGraph& graph, const std::vector<LayerId>& order, const std::vector<std::size_t>& bounds);

  /// The units of a stage. **Cost** O(units of the stage), and for those near its ends that of `StageUnits::unit`.
  [[nodiscard]] std::vector<SavingUnit> units(const Run& stage) const;

  /// The layers of one of them.
  [[nodiscard]] Run layers(const Run& stage, std::size_t unit) const;

  /// Of each of its layers: stages of equal numbers have equal units and segments. The table must outlive it.
  [[nodiscard]] std::span<const std::uint32_t> likeness(const Run& stage) const;

  /// The segments of a stage, as `SavingStage::segments` has them. **Cost** O(end - begin) for those that it has seen,
  /// away from the ends of the stage; for others that of `StageUnits::units_before`, and they are kept.
  [[nodiscard]] std::vector<SavingUnit> segments(const Run& stage, std::size_t begin, std::size_t end);

 private:
  /// A run of units in each stage that has at least the layers of `within`, or begins with the run and has those that
  /// are behind it.
  struct Known {
    Run within;
    StageUnits::RunUnit figures;
    /// The unit in the stage, if it is known for it.
    [[nodiscard]] std::optional<SavingUnit> in(const Run& stage, std::size_t begin) const;
  };
  /// Runs that end with some unit, the shortest first: in stages that go on behind it, and in those that end there.
  struct KnownRuns {
    std::vector<Known> inside;
    std::vector<Known> at_end;
  };
  [[nodiscard]] std::size_t unit_at(std::size_t layer) const;
  [[nodiscard]] Run whole() const { return {0, bounds_.back()}; }
  [[nodiscard]] std::vector<Known> runs_before(std::size_t unit, std::size_t count, const Run& stage) const;

  StageUnits figures_;
  std::vector<std::size_t> bounds_;
  std::vector<std::uint32_t> likeness_;  // by layer
  std::vector<Run> reaches_;             // likewise
  std::vector<Known> units_;
  std::vector<KnownRuns> runs_;  // by unit
};

}  // namespace stagecraft
