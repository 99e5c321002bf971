#pragma once

#include "planners/shared/saving.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// Lower bounds on the time of a stage some of whose units have their actions already. The time is at least a weighted
/// mean of its computation and its copies. With a weight between the two, saving memory is a knapsack in which every
/// unit may be recomputed or swapped; where units may be saved in part, it is solved by taking what costs least time
/// for each byte first.
class SavingBound {
 public:
  /// The units must outlive it. They are in the order in which they get their actions.
  /// **Cost** O(units²) time and memory, times a small number of weights.
  SavingBound(std::span<const SavingUnit> units, const StageRoom& room);

  /// The least time if the units from `taken` on have to save `lacking` bytes, and those before them take `recompute`
  /// and swap `swapped`; `kNever` if they cannot save that much. **Cost** O(weights · log units).
  [[nodiscard]] Seconds time(std::size_t taken, Bytes lacking, Seconds recompute, Bytes swapped) const;

  /// Plans that fit, from the knapsacks of many weights with their last unit saved whole; the one with the least time.
  [[nodiscard]] std::optional<SavingPlan> rounded() const;

 private:
  /// A step from an action to one that saves more.
  struct Step {
    std::size_t unit = 0;
    Saving action = Saving::Keep;
    double saved = 0.0;  ///< bytes
    double cost = 0.0;   ///< weighted seconds
  };
  /// The steps of the units from a position on, by increasing cost for each byte, each with all before it.
  struct Sums {
    std::vector<double> saved;
    std::vector<double> cost;
  };
  struct Weighted {
    double weight = 0.0;  ///< of the computation
    std::vector<Sums> from;
  };

  [[nodiscard]] std::vector<Step> steps(double weight) const;
  [[nodiscard]] double root_bound(double weight, double lacking) const;

  std::span<const SavingUnit> units_;
  StageRoom room_;
  double compute_;
  std::vector<Weighted> weights_;
};

}  // namespace stagecraft
