#pragma once

#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace stagecraft::testing {

/// The families with fixed orders.
inline std::vector<const ScheduleFamily*> fixed_families() {
  std::vector<const ScheduleFamily*> families;
  for (const ScheduleFamily* family : all_families()) {
    if (family->orders != nullptr) families.push_back(family);
  }
  return families;
}

/// One layer for each stage, placed as the schedule wants them; the r-th replicas are on devices of their own.
inline Plan fixed_plan(const ScheduleChoice& schedule, std::size_t devices, std::int64_t microbatches,
                       std::size_t replicas = 1) {
  const Placement placement = require_family(schedule.name).placement(devices, schedule_parameters(schedule));
  Plan plan = straight(placement.size(), microbatches, schedule.name);
  plan.schedule = schedule;
  std::map<std::uint32_t, std::size_t> layers;  // by pipeline
  for (std::size_t s = 0; s < placement.size(); ++s) {
    plan.stages[s].pipeline = placement[s].pipeline;
    plan.stages[s].layers = {LayerId(layers[placement[s].pipeline]++)};
    plan.stages[s].replicas.clear();
    for (std::size_t r = 0; r < replicas; ++r) {
      plan.stages[s].replicas.emplace_back(DeviceId(r * devices + placement[s].device));
    }
  }
  return plan;
}

/// The layers of such a plan: those of its first pipeline are those of each.
inline std::size_t layers_of(const Plan& plan) {
  return static_cast<std::size_t>(std::ranges::count(plan.stages, 0U, &Stage::pipeline));
}

/// By stage: the most microbatches in flight in the orders. A split backward ends with its weight half.
inline std::vector<std::int64_t> in_flight_of(const Schedule& schedule, std::size_t stages) {
  std::vector<std::int64_t> most(stages);
  for (const DeviceOrder& order : schedule.devices) {
    std::vector<std::int64_t> pending(stages);
    for (const Action& action : order.actions) {
      const std::size_t s = action.stage.value();
      if (action.kind == ActionKind::Forward) most[s] = std::max(most[s], ++pending[s]);
      if (action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardWeight) --pending[s];
    }
  }
  return most;
}

}  // namespace stagecraft::testing
