#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/plan_work.hpp"

#include <memory>
#include <utility>

namespace stagecraft {

/// A plan, its replicas and what they do on one graph and platform, which everyone who works on the plan shares.
struct KeptPlan {
  /// `known` is the work of the same plan with another number of microbatches; null: it is made.
  KeptPlan(const LayerGraph& graph, const Platform& platform, Plan kept,
           std::shared_ptr<const PlanWork> known = nullptr)
      : plan(std::move(kept)),
        replicas(plan),
        work(known ? std::move(known) : std::make_shared<const PlanWork>(graph, platform, plan, replicas)) {}

  Plan plan;
  Replicas replicas;
  std::shared_ptr<const PlanWork> work;
};

}  // namespace stagecraft
