#pragma once

#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <string>
#include <variant>

namespace stagecraft::testing {

/// The program of a plan whose schedule asks neither for times nor for memory, or brings its pattern.
inline ScheduleProgram compiled(const Plan& plan) { return require_schedule(chain(1, 1, 2), pairwise(1), plan); }

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
inline std::string refusal_of(const Plan& plan) { return refusal_of(chain(1, 1, 2), pairwise(1), plan); }

inline std::int64_t least_length(const Plan& plan) { return least_microbatches(compiled(plan), Replicas(plan)); }

}  // namespace stagecraft::testing
