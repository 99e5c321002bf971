#pragma once

#include "planners/exhaustive/space.hpp"
#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft::exhaustive {

/// What the shared cost model claims of any plan whose stages stand on devices of their own, with T a stage's forward
/// and backward on its slowest replica, A its all-reduce, U its update, r its replicas, c a boundary's bytes over the
/// narrowest pair of the two stages' devices, divided by the smaller number of replicas:
/// asynchronous, a period of max(max (B + max(F, A) + U) / r, max c);
/// synchronous, an iteration of max(max ⌈m / r⌉ T, m · max c) + (p - 1) max T + max (A + U).
/// `split` replicas take T / r for each microbatch instead.
/// **Requires** a plan that breaks no rule.
[[nodiscard]] Figures claim(const PlanRequest& request, const Plan& plan);

/// Least costs of a stage, whatever the other stages are: what a search may discard by.
class LeastCosts {
 public:
  explicit LeastCosts(const PlanRequest& request);

  /// Least time of a synchronous iteration of a plan with this piece: the busiest replica's computations.
  [[nodiscard]] double time(const Piece& piece, std::size_t first_device) const;
  /// The memory that the devices which the piece does not fit must have at least (what is reserved included), with one
  /// weight version, one stash and no boundaries; 0: it may fit.
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
