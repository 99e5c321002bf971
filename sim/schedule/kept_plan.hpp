#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

namespace stagecraft {

/// A plan and its replicas, which everyone who works on the plan shares.
struct KeptPlan {
  explicit KeptPlan(const Plan& kept) : plan(kept), replicas(plan) {}

  Plan plan;
  Replicas replicas;
};

}  // namespace stagecraft
