#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <memory>

namespace stagecraft {

/// A plan and its replicas, for orders that outlive the context.
struct KeptPlan {
  Plan plan;
  Replicas replicas;
};
[[nodiscard]] std::shared_ptr<const KeptPlan> keep(const PlanContext& context);

}  // namespace stagecraft
