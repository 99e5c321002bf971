#pragma once

#include "planners/planner.hpp"
#include "sim/base/quantity.hpp"

#include <optional>

namespace stagecraft {

/// Of the plans of one planner that are added the fastest; of equally fast ones the first.
///
/// Plans are compared by the evaluated time of an iteration, or without flushes by the evaluated period. It is longer
/// where flows would have to share a link that carries more than it can in that time. Where devices are not alike,
/// plans are evaluated with the shares that replicas and pipelines will get.
class FastestPlan {
 public:
  /// Both must outlive it.
  FastestPlan(const PlannerInfo& planner, const PlanRequest& request) : planner_(planner), request_(request) {}

  /// Whether it is the fastest so far. A plan that breaks a rule is slower than all others. **Cost** that of its
  /// evaluation, and at the second plan that of the first one's.
  bool add(Planned planned);

  [[nodiscard]] std::optional<Planned>& best() { return best_; }
  [[nodiscard]] const std::optional<Planned>& best() const { return best_; }
  /// The time of the best plan. **Requires** one. **Cost** as `add`.
  [[nodiscard]] Seconds time();

 private:
  const PlannerInfo& planner_;
  const PlanRequest& request_;
  std::optional<Planned> best_;
  std::optional<Seconds> time_;
};

}  // namespace stagecraft
