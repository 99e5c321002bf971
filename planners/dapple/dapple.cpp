#include "planners/dapple/search.hpp"
#include "planners/planner.hpp"
#include "planners/shared/cost_model.hpp"
#include "planners/shared/limits.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {

extern const PlannerInfo dapple_planner;

namespace dapple {
namespace {

/// Up to this ratio of communication to computation, communication counts as small.
constexpr double kSmallRatio = 0.1;

/// The mean time of a channel in both directions divided by the mean time of a stage; 0 without channels.
double communication_ratio(const std::vector<Block>& blocks) {
  double stages = 0.0;
  double channels = 0.0;
  for (std::size_t i = 0; i < blocks.size(); ++i) (i % 2 == 0 ? stages : channels) += blocks[i].both();
  const std::size_t count = blocks.size() / 2;
  if (count == 0 || channels <= 0.0) return 0.0;
  const double mean = channels / static_cast<double>(count);
  return stages > 0.0 ? mean / (stages / static_cast<double>(count + 1)) : std::numeric_limits<double>::max();
}

/// The schedule that the request asks for, by its name or by the option `warmup`; empty if the planner is to choose.
std::string wanted_schedule(const PlanRequest& request) {
  const std::string& given = request.schedule.name;
  const std::string& policy = request.options.word("warmup");
  std::string asked = policy == "a" ? "1f1b" : policy == "b" ? "eager-1f1b" : "";
  if (given.empty()) return asked;
  if (is_asynchronous(request.schedule)) {
    throw InputError("planner 'dapple' plans for schedules that flush, not for " + quote(given));
  }
  if (!asked.empty() && asked != given) {
    throw InputError(
        "planner 'dapple': warmup=" + policy + " is schedule " + quote(asked) + ", but " + quote(given) + " is given",
        {}, "leave one of the two out");
  }
  return given;
}

Plan plan_of(const PlanRequest& request, const Answer& answer) {
  Plan plan = empty_plan(dapple_planner, request);
  const std::vector<LayerId> order = canonical_order(request.graph);
  for (const PlacedStage& placed : answer.stages) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(order, placed.begin, placed.end);
    stage.replicas = groups_of_one(placed.devices);
    stage.replication = Replication::Split;
  }
  plan.predicted.iteration_time = Seconds(answer.latency.total());
  return plan;
}

/// The plan with at most `cap` microbatches in flight on every stage.
Plan capped(Plan plan, std::int64_t cap) {
  for (Stage& stage : plan.stages) stage.in_flight = cap;
  return plan;
}

/// The plan with at most `cap` microbatches in flight on every stage, judged, with a note about the cap.
PlanResult judged_with(const PlanRequest& request, const Planned& planned, std::int64_t cap) {
  Planned lower{capped(planned.plan, cap), planned.details, planned.notes};
  lower.details.emplace_back("in_flight_cap", cap);
  lower.notes.push_back("memory allows no more than " + std::to_string(cap) +
                        " microbatches in flight on a stage, so the iteration takes longer than predicted");
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
PlanResult within_memory(const PlanRequest& request, const Planned& planned) {
  PlanResult result = judged(request, planned);
  if (std::holds_alternative<Planned>(result) || planned.plan.schedule.name == "gpipe") return result;
  const ScheduleProgram program = require_schedule(request.graph, request.platform, planned.plan);
  const std::int64_t most = std::ranges::max(program.in_flight);
  if (most == 1) return result;
  return (grows_with_cap(planned.plan.schedule) ? bisected : stepped)(request, planned, most);
}

/// The plan with warm-up policy B if communication is not small and memory allows it, otherwise with policy A.
PlanResult with_warmup(const PlanRequest& request, Planned planned, double ratio) {
  if (ratio > kSmallRatio) {
    planned.plan.schedule.name = "eager-1f1b";
    PlanResult result = judged(request, planned);
    if (std::holds_alternative<Planned>(result)) return result;
  }
  planned.plan.schedule.name = "1f1b";
  return within_memory(request, planned);
}

PlanResult plan_dapple(const PlanRequest& request) {
  const std::string schedule = wanted_schedule(request);
  const Problem problem = problem_of(request);
  const Answer answer =
      search(problem, {static_cast<std::size_t>(request.options.count("width")), request.options.number("max_work")});
  const double ratio = communication_ratio(blocks_of(problem, answer.stages));
  const auto pivot = static_cast<std::int64_t>(answer.latency.pivot);
  Planned planned{plan_of(request, answer),
                  {{"warmup_s", answer.latency.warmup},
                   {"steady_s", answer.latency.steady},
                   {"ending_s", answer.latency.ending},
                   {"pivot", (pivot % 2 == 0 ? "stage " : "channel ") + std::to_string(pivot / 2)},
                   {"communication_ratio", ratio},
                   {"cuts", static_cast<std::int64_t>(answer.cuts)},
                   {"latencies", answer.work}}};
  if (answer.ended_early) {
    planned.notes.emplace_back(
        "the search ended before all sets of devices were tried; a larger max_work lets it continue");
  }
  if (schedule.empty()) return with_warmup(request, std::move(planned), ratio);
  planned.plan.schedule.name = schedule;
  return within_memory(request, planned);
}

}  // namespace
}  // namespace dapple

const PlannerInfo dapple_planner{
    .name = "dapple",
    .summary = "stages of replicas that divide each microbatch, by DAPPLE's latency model and device placement",
    .source = "Fan et al., DAPPLE, PPoPP 2021",
    .default_schedule = "",
    .options = {{"warmup",
                 std::string("auto"),
                 "forwards before the first backward: a: as in 1f1b; b: twice as many; auto: by the communication",
                 {"auto", "a", "b"}},
                {"width", std::int64_t{2}, "partial plans kept for each number of layers and devices", {}, 1, 1000},
                {"max_work",
                 kMostLatencies,
                 "limit of the latencies computed; on larger problems fewer cuts are tried",
                 {},
                 1}},
    .plan = dapple::plan_dapple,
};

}  // namespace stagecraft
