#pragma once

#include "planners/shared/savings/saving.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Lower bounds on the time of a stage some of whose units have their actions already. The time is at least a weighted
/// mean of its computation and its copies. With a weight between the two, saving memory is a knapsack in which every
/// unit may be recomputed or swapped; where units may be saved in part, it is solved by taking what costs least time
/// for each byte first. Where units may be recomputed in segments, each adds only a part of the smallest checkpoint.
class SavingBound {
 public:
  /// The stage must outlive it. Its units get their actions from the last one to the first; at first none has its own.
  /// **Cost** O(weights · units log units) time, and O(weights · units) memory.
  explicit SavingBound(const SavingStage& stage);

  /// The next unit gets its action. **Requires** that one is left. **Cost** O(weights).
  void take_next();

  /// The least time if the units that are left have to save `lacking` bytes, and those that were taken take `recompute`
  /// and swap `swapped`; `kNever` if they cannot save that much. **Cost** O(weights · log units), and after `take_next`
  /// O(weights · units) additions at worst, once.
  [[nodiscard]] Seconds time(Bytes lacking, Seconds recompute, Bytes swapped);

  /// Of the savings that fit, from the knapsacks of many weights with their last unit saved whole, the fastest one.
  [[nodiscard]] std::optional<StageSaving> rounded() const;

 private:
  static constexpr std::uint32_t kNoStep = static_cast<std::uint32_t>(-1);

  /// A step from an action to one that saves more.
  struct Step {
    std::size_t unit = 0;
    UnitAction action = UnitAction::Keep;
    double saved = 0.0;  ///< bytes
    double cost = 0.0;   ///< weighted seconds
  };
  /// The steps by increasing cost for each byte, and what each saves and costs with all before it. A step of a unit
  /// that was taken saves and costs nothing.
  struct Weighted {
    double weight = 0.0;  ///< of the computation
    std::vector<Step> steps;
    std::vector<std::array<std::uint32_t, 2>> of_unit;  ///< where its first and its last step are; `kNoStep`: none
    std::vector<double> saved;
    std::vector<double> cost;
    std::size_t summed = 0;  ///< the steps whose sums are up to date
  };

  [[nodiscard]] std::vector<Step> steps(double weight) const;
  [[nodiscard]] double root_bound(double weight, double lacking) const;
  static void drop(Weighted& weighted, std::size_t unit);
  static double fractional_cost(Weighted& weighted, double lacking);

  const SavingStage& stage_;
  std::vector<double> checkpoints_;  ///< by unit: the least that it adds to the checkpoint of a segment
  double compute_;
  std::size_t taken_ = 0;
  std::vector<Weighted> weights_;
};

}  // namespace stagecraft
