#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

#include <utility>

namespace stagecraft {

/// A plan and its replicas, which everyone who works on the plan shares.
struct KeptPlan {
  explicit KeptPlan(Plan kept) : plan(std::move(kept)), replicas(plan) {}

  Plan plan;
  Replicas replicas;
};

}  // namespace stagecraft
