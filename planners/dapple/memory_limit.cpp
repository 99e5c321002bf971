#include "planners/dapple/memory_limit.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/counted.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

namespace stagecraft::dapple {
namespace {

/// The plan with at most `cap` microbatches in flight on every stage.
Plan capped(Plan plan, std::int64_t cap) {
  for (Stage& stage : plan.stages) stage.in_flight = cap;
  return plan;
}

/// The plan with at most `cap` microbatches in flight on every stage, judged, with a note about the cap.
PlanResult judged_with(const PlanRequest& request, const Planned& planned, std::int64_t cap) {
  Planned lower{capped(planned.plan, cap), planned.details, planned.notes};
  lower.details.emplace_back("in_flight_cap", cap);
  lower.notes.push_back("memory allows no more than " + counted(cap, "microbatch") + " in flight on a stage");
  return judged(request, std::move(lower));
}

/// Whether a larger cap never leads to fewer microbatches in flight on a stage. In a strict order of `spp-pe` a cap
/// shifts all later work, so nothing is known there.
bool grows_with_cap(const ScheduleChoice& schedule) {
  return schedule.name != family_spp_pe.name || !processing_settings(schedule).strict;
}

/// The plan with the largest cap below `most` with which it fits, by bisection; infeasible if it does not fit with
/// cap 1.
PlanResult bisected(const PlanRequest& request, const Planned& planned, std::int64_t most) {
  PlanResult best = judged_with(request, planned, 1);
  if (std::holds_alternative<Infeasible>(best)) return best;
  std::int64_t fits = 1;
  while (fits + 1 < most) {
    const std::int64_t middle = fits + (most - fits) / 2;
    PlanResult result = judged_with(request, planned, middle);
    if (std::holds_alternative<Planned>(result)) {
      fits = middle;
      best = std::move(result);
    } else {
      most = middle;
    }
  }
  return best;
}

/// The plan with the first cap below `most` with which it fits. The cap goes down by 1, or by a 64th if it is 128 or
/// more.
PlanResult stepped(const PlanRequest& request, const Planned& planned, std::int64_t most) {
  const auto below = [](std::int64_t cap) { return cap - std::max<std::int64_t>(1, cap / 64); };
  std::int64_t cap = below(most);
  PlanResult result = judged_with(request, planned, cap);
  while (std::holds_alternative<Infeasible>(result) && cap > 1) {
    cap = below(cap);
    result = judged_with(request, planned, cap);
  }
  return result;
}

/// The plan with the largest cap with which it fits (DAPPLE's D); infeasible if not even one microbatch at a time fits.
PlanResult largest_cap(const PlanRequest& request, const Planned& planned) {
  PlanResult result = judged(request, planned);
  if (std::holds_alternative<Planned>(result) || planned.plan.schedule.name == "gpipe") return result;
  const ScheduleProgram program = require_schedule(request.graph, request.platform, planned.plan);
  const std::int64_t most = std::ranges::max(program.in_flight);
  if (most == 1) return result;
  return (grows_with_cap(planned.plan.schedule) ? bisected : stepped)(request, planned, most);
}

/// The time with the problem's channels and all-reduces.
Seconds evaluated_time(const PlanRequest& request, const Problem& problem, const Plan& plan) {
  if (problem.all_reduces) {
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    options.channel_times = channel_times(request.graph, plan, problem.channels.pairs);
    options.lowered_all_reduces = true;
    return evaluate_plan(request.graph, request.platform, plan, options).iterations.back();
  }
  return evaluate_iteration(request.graph, request.platform, require_schedule(request.graph, request.platform, plan));
}

}  // namespace

PlanResult within_memory(const PlanRequest& request, const Planned& planned, Seconds round_trip) {
  PlanResult result = largest_cap(request, planned);
  auto* fitting = std::get_if<Planned>(&result);
  if (fitting == nullptr || is_unlimited(result)) return result;
  Plan& plan = fitting->plan;
  const auto rounds = static_cast<double>(plan.microbatches) / static_cast<double>(*plan.stages.front().in_flight);
  plan.predicted.iteration_time = std::max(*plan.predicted.iteration_time, round_trip * rounds);
  return result;
}

bool is_unlimited(const PlanResult& result) {
  const auto* planned = std::get_if<Planned>(&result);
  return planned != nullptr && !planned->plan.stages.front().in_flight;
}

bool is_better(const PlanRequest& request, const Problem& problem, const PlanResult& challenger,
               const PlanResult& best) {
  const auto* own = std::get_if<Planned>(&challenger);
  const auto* other = std::get_if<Planned>(&best);
  if (own != nullptr && other != nullptr) {
    return evaluated_time(request, problem, own->plan) < evaluated_time(request, problem, other->plan);
  }
  if (own == nullptr && other == nullptr) {
    return std::get<Infeasible>(challenger).smallest_memory < std::get<Infeasible>(best).smallest_memory;
  }
  return own != nullptr;
}

}  // namespace stagecraft::dapple
