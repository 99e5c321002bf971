#pragma once

#include "planners/exhaustive/space.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/divided_times.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/run_sums.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::exhaustive {

/// Lower bounds for the costs of a stage, whatever the other stages are. The search discards plans by them.
class LeastCosts {
 public:
  /// `by_speed`: replicas that are not equally fast may have unequal shares.
  LeastCosts(const PlanRequest& request, bool by_speed);

  /// A lower bound for a synchronous iteration of any plan with this piece: the computations of its busiest replica.
  [[nodiscard]] double time(const Piece& piece) const;
  /// The memory (the reserved part included) that is needed at least by devices on which the piece does not fit,
  /// counted with one weight version, one stash and no boundaries; 0 if the piece may fit.
  [[nodiscard]] Bytes memory_needed(const Piece& piece) const;

 private:
  [[nodiscard]] bool may_be_unequal(const Piece& piece) const;

  DividedTimes times_;
  RunSums parameters_;
  RunSums experts_;  ///< the part of these that an expert group divides
  RunSums stash_;
  std::vector<double> factors_;  ///< by device
  std::vector<Bytes> memory_;    ///< by device
  std::vector<Bytes> reserved_;
  Training training_;
  std::int64_t microbatches_ = 1;
  std::int64_t samples_ = 1;  ///< of a microbatch
  Copies copies_;             ///< of parameters in a replica
  bool by_speed_;
};

}  // namespace stagecraft::exhaustive
