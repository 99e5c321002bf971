#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/plan_work.hpp"

#include <memory>
#include <utility>

namespace stagecraft {

/// A plan and its replicas.
struct PlacedPlan {
  explicit PlacedPlan(Plan placed) : plan(std::move(placed)), replicas(plan) {}

  Plan plan;
  Replicas replicas;
};

/// With what the replicas do on one graph and platform, as everyone who works on the plan shares it.
struct KeptPlan : PlacedPlan {
  /// `known` is the work of the same plan with another number of microbatches; null: it is made.
  KeptPlan(const LayerGraph& graph, const Platform& platform, Plan kept,
           std::shared_ptr<const PlanWork> known = nullptr)
      : PlacedPlan(std::move(kept)),
        work(known ? std::move(known) : std::make_shared<const PlanWork>(graph, platform, plan, replicas)) {}

  std::shared_ptr<const PlanWork> work;
};

}  // namespace stagecraft
