#pragma once

#include "planners/planner.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>

namespace stagecraft {

/// The claim for a synchronous plan for which no formula holds: its schedule has fixed orders
/// (`ScheduleFamily::orders`), it has several pipelines, or replicas of neighbours take turns in different numbers. It
/// is the evaluated time of its iteration, with transfers, all-reduces and updates. A plan of more than about 16,000
/// microbatches on stages is evaluated with fewer groups of about as many microbatches as there are devices, at least
/// four groups and what is left of the last one; each further group takes as long as one of these.
/// **Requires** a plan that breaks no rule, unless devices that have to talk are not connected. **Throws** InputError
/// in that case, and if the schedule refuses the plan.
/// **Cost** of one or two evaluations.
[[nodiscard]] Figures evaluated_claim(const PlanRequest& request, const Plan& plan);

/// **Throws** InputError if devices that have to talk are not connected, which no evaluation bears. It names the plan's
/// planner.
void require_connected(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// The microbatches of the plan of `program` that `evaluated_claim` evaluates at most.
[[nodiscard]] std::int64_t evaluated_microbatches(const ScheduleProgram& program);

/// Whether the plan's claim is `evaluated_claim`.
[[nodiscard]] bool is_claim_evaluated(const Plan& plan);

}  // namespace stagecraft
