#pragma once

#include "planners/exhaustive/space.hpp"
#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::exhaustive {

/// The figures that the shared cost model predicts for a plan in which each stage has devices of its own. For a stage,
/// F and B are its forward and backward on the slowest replica, T = F + B, A is its all-reduce, U its update and r its
/// number of replicas. For a boundary, c is the time of its bytes over the narrowest pair of the two stages' devices,
/// divided by the smaller number of replicas. With p stages and m microbatches,
/// an asynchronous schedule has a period of max(max (B + max(F, A) + U) / r, max c);
/// a synchronous one has an iteration of max(max ⌈m / r⌉ T, m · max c) + (p - 1) max T + max (A + U).
/// With `split` replicas each microbatch takes T / r instead.
/// **Requires** a plan that breaks no rule.
[[nodiscard]] Figures claim(const PlanRequest& request, const Plan& plan);

/// Lower bounds for the costs of a stage, whatever the other stages are. The search discards plans by them.
class LeastCosts {
 public:
  explicit LeastCosts(const PlanRequest& request);

  /// A lower bound for a synchronous iteration of any plan with this piece: the computations of its busiest replica.
  [[nodiscard]] double time(const Piece& piece, std::size_t first_device) const;
  /// The memory (the reserved part included) that is needed at least by devices on which the piece does not fit,
  /// counted with one weight version, one stash and no boundaries; 0 if the piece may fit.
  [[nodiscard]] Bytes memory_needed(const Piece& piece, std::size_t first_device) const;

 private:
  std::vector<double> seconds_;  ///< sums over the layers before each position
  std::vector<Bytes> parameters_;
  std::vector<Bytes> stash_;
  std::vector<double> factors_;  ///< by device
  std::vector<Bytes> memory_;    ///< by device
  std::vector<Bytes> reserved_;
  std::int64_t copies_ = 1;  ///< of the parameters
  std::int64_t microbatches_ = 1;
};

}  // namespace stagecraft::exhaustive
