#pragma once

#include "planners/shared/savings/saving.hpp"
#include "planners/shared/savings/saving_pipeline.hpp"
#include "planners/vpipe/neighbour_moves.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

namespace stagecraft::vpipe {

struct SavingRules {
  bool is_exact = false;   ///< the exact search, in place of the greedy rules
  bool is_suffix = false;  ///< the recomputed units are the last ones of the stage, as one segment
};

/// What the stage `stage` is with the units [begin, end).
using StageOf = std::function<SavingStage(std::size_t stage, std::size_t begin, std::size_t end)>;

/// The savings of stages. Networks repeat the same few kinds of units, so a stage with the same budget and the same
/// sequence of equal units as one before is not planned again. **Cost** memory for each stage, not for its units.
class StageSavings {
 public:
  StageSavings(StageOf stage_of, const SavingRules& rules);

  /// A stage that has no plan lacks the memory by which it exceeds its capacity if all units are recomputed, each by
  /// itself or where there are segments as one, or all are swapped, but at least one byte; its time is that with all
  /// units recomputed. Times are rounded
  /// up to a tick, so that no comparison depends on rounding errors.
  [[nodiscard]] StageCost cost(std::size_t stage, std::size_t begin, std::size_t end);

  /// The actions of a stage; none if it has no plan.
  [[nodiscard]] std::optional<StageSaving> savings(std::size_t stage, std::size_t begin, std::size_t end);

  [[nodiscard]] std::int64_t evaluations() const { return static_cast<std::int64_t>(by_place_.size()); }  ///< of stages
  /// The evaluations that were answered by an equal stage.
  [[nodiscard]] std::int64_t repeats() const { return evaluations() - static_cast<std::int64_t>(kinds_.size()); }
  /// Whether the exact search never had to drop choices.
  [[nodiscard]] bool is_exact() const { return is_exact_; }

 private:
  struct Place {
    std::size_t stage = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  /// Stages with the same budget and the same units: the first one that was planned, and their cost.
  struct Kind {
    Place first;
    StageCost cost;
  };

  [[nodiscard]] std::optional<StageSaving> find(const SavingStage& stage);
  [[nodiscard]] std::optional<StageSaving> savings_of(const SavingStage& stage);
  [[nodiscard]] StageCost cost_of(const SavingStage& stage);
  [[nodiscard]] const Kind* known_kind(const SavingStage& stage, std::size_t hash) const;

  StageOf stage_of_;
  SavingRules rules_;
  std::map<Place, StageCost> by_place_;
  std::unordered_multimap<std::size_t, Kind> kinds_;  ///< by hash; what they are is made again to compare it
  bool is_exact_ = true;
};

}  // namespace stagecraft::vpipe
