#pragma once

#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <variant>

namespace stagecraft::testing {

/// A chain with all layers of the plan, which take equal times.
inline LayerGraph chain_for(const Plan& plan) {
  std::size_t layers = 1;
  for (const Stage& stage : plan.stages) {
    for (LayerId layer : stage.layers) layers = std::max(layers, layer.value() + std::size_t{1});
  }
  return chain(layers, 1, 2);
}
/// A platform with all devices of the plan.
inline Platform pairwise_for(const Plan& plan) {
  std::size_t devices = 1;
  for (const Stage& stage : plan.stages) {
    for (DeviceId device : devices_of(stage)) devices = std::max(devices, device.value() + std::size_t{1});
  }
  return pairwise(devices);
}

/// The program of a plan whose schedule does not ask for memory, or brings its pattern.
inline ScheduleProgram compiled(const Plan& plan) {
  return require_schedule(chain_for(plan), pairwise_for(plan), plan);
}

/// The plan with the pattern that its schedule runs.
inline Plan with_pattern(const LayerGraph& graph, const Platform& platform, Plan plan) {
  plan.pattern = require_schedule(graph, platform, plan).pattern;
  return plan;
}

/// The first reason of the schedule against the plan; empty if it runs it.
inline std::string refusal_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const Compilation compilation = compile_schedule(graph, platform, plan);
  const auto* refusals = std::get_if<ScheduleRefusals>(&compilation);
  return refusals == nullptr ? "" : refusals->front().message;
}
inline std::string refusal_of(const Plan& plan) { return refusal_of(chain_for(plan), pairwise_for(plan), plan); }

inline std::int64_t least_length(const Plan& plan) { return least_microbatches(compiled(plan), Replicas(plan)); }

}  // namespace stagecraft::testing
