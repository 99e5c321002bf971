#pragma once

#include "planners/shared/saving.hpp"
#include "planners/shared/saving_pipeline.hpp"
#include "planners/vpipe/neighbour_moves.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace stagecraft::vpipe {

struct SavingRules {
  bool is_exact = false;      ///< the exact search, in place of the greedy rules
  bool joins_suffix = false;  ///< the recomputed units are the last ones of the stage, as one segment
};

/// What the stage `stage` is with the units [begin, end).
using StageOf = std::function<SavingStage(std::size_t stage, std::size_t begin, std::size_t end)>;

/// The savings of stages. Networks repeat the same few kinds of units, so a stage with the same room and the same
/// sequence of equal units as one before is not planned again.
class StageSavings {
 public:
  StageSavings(StageOf stage_of, const SavingRules& rules);

  /// A stage that has no plan lacks the memory by which it exceeds its capacity if all units are recomputed or, if that
  /// takes less, all are swapped, but at least one byte; its time is that with all units recomputed. Times are rounded
  /// up to a tick, so that no comparison depends on rounding errors.
  [[nodiscard]] StageCost cost(std::size_t stage, std::size_t begin, std::size_t end);

  /// The actions of a stage; none if it has no plan.
  [[nodiscard]] std::optional<SavingPlan> savings(std::size_t stage, std::size_t begin, std::size_t end);

  [[nodiscard]] std::int64_t evaluations() const { return static_cast<std::int64_t>(by_place_.size()); }  ///< of stages
  /// The evaluations that were answered by an equal stage.
  [[nodiscard]] std::int64_t repeats() const { return evaluations() - static_cast<std::int64_t>(by_kinds_.size()); }
  /// Whether the exact search never had to drop choices.
  [[nodiscard]] bool is_exact() const { return is_exact_; }

 private:
  struct Kinds {
    StageRoom room;
    std::vector<std::uint32_t> units;  ///< equal numbers for equal units
    friend auto operator<=>(const Kinds&, const Kinds&) = default;
  };

  [[nodiscard]] std::optional<SavingPlan> find(std::span<const SavingUnit> units, const StageRoom& room);
  [[nodiscard]] std::optional<SavingPlan> savings_of(const SavingStage& stage);
  [[nodiscard]] StageCost cost_of(const SavingStage& stage);
  [[nodiscard]] Kinds kinds_of(const SavingStage& stage);

  StageOf stage_of_;
  SavingRules rules_;
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, StageCost> by_place_;
  std::map<Kinds, StageCost> by_kinds_;
  std::map<SavingUnit, std::uint32_t> kinds_;
  bool is_exact_ = true;
};

}  // namespace stagecraft::vpipe
