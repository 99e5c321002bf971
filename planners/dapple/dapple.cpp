#include "planners/dapple/memory_limit.hpp"
#include "planners/dapple/search.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/exchange_times.hpp"
#include "planners/shared/costs/limits.hpp"
#include "planners/shared/costs/pair_bandwidths.hpp"
#include "planners/shared/costs/require_formula.hpp"
#include "planners/shared/savings/side_by_side.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"

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
    throw InputError("planner 'dapple' plans for schedules that flush, not for " + quote(given), {},
                     "use planner pipedream for schedule pipedream, contiguous or madpipe for 1f1b-star");
  }
  require_formula(dapple_planner, request);
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
  return plan;
}

/// The latency of the plan. The search prices tied parameters as if each stage had them alone; here stages that have
/// some in common exchange them with each other.
Latency latency_of(const PlanRequest& request, const Answer& answer, std::vector<Block> blocks, const Plan& plan) {
  if (request.graph.tied.empty()) return answer.latency;
  Plan flushed = plan;
  flushed.schedule.name = "1f1b";
  const std::vector<ExchangeTimes> exchanges = exchange_times(request.graph, request.platform, flushed);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const Seconds update = slowest_update(request.platform, request.training, devices_of(stage),
                                          parameters_of(request.graph, stage.layers));
    if (exchanges[s].tied > Seconds(0)) blocks[2 * s].synchronise = (exchanges[s].longest() + update).value();
  }
  return pipeline_latency(blocks, request.microbatches);
}

/// The plan with warm-up policy B if communication is not small and memory allows it, otherwise with policy A.
PlanResult with_warmup(const PlanRequest& request, Planned planned, double ratio, Seconds round_trip) {
  if (ratio > kSmallRatio) {
    planned.plan.schedule.name = "eager-1f1b";
    PlanResult result = judged(request, planned);
    if (std::holds_alternative<Planned>(result)) return result;
  }
  planned.plan.schedule.name = "1f1b";
  return within_memory(request, planned, round_trip);
}

/// What the search found, with a schedule (chosen here if it is empty), within memory.
PlanResult scheduled(const PlanRequest& request, const Problem& problem, const Answer& answer,
                     const std::string& schedule) {
  const std::vector<Block> blocks = blocks_of(problem, answer.stages);
  const double ratio = communication_ratio(blocks);
  Seconds round_trip;
  for (const Block& block : blocks) round_trip += Seconds(block.both());
  Plan plan = plan_of(request, answer);
  const Latency latency = latency_of(request, answer, blocks, plan);
  plan.predicted.iteration_time = Seconds(latency.total());
  const auto pivot = static_cast<std::int64_t>(latency.pivot);
  Planned planned{std::move(plan),
                  {{"warmup_s", latency.warmup},
                   {"steady_s", latency.steady},
                   {"ending_s", latency.ending},
                   {"pivot", (pivot % 2 == 0 ? "stage " : "channel ") + std::to_string(pivot / 2)},
                   {"communication_ratio", ratio},
                   {"cuts", static_cast<std::int64_t>(answer.cuts)},
                   {"latencies", answer.work}}};
  if (answer.ended_early) {
    planned.notes.emplace_back(
        "the search ended before all sets of devices were tried; a larger max_work lets it continue");
  }
  if (schedule.empty()) return with_warmup(request, std::move(planned), ratio, round_trip);
  planned.plan.schedule.name = schedule;
  return within_memory(request, planned, round_trip);
}

/// DAPPLE's plan. If it does not fit without a cap, the search is repeated with at most half as many devices on a
/// stage, a quarter and so on: such plans have more stages, which hold less. Of all plans the one is taken that takes
/// the least time when it is evaluated; the first one on ties.
PlanResult plan_one(const PlanRequest& request) {
  const std::string schedule = wanted_schedule(request);
  const SearchLimits limits{static_cast<std::size_t>(request.options.count("width")),
                            request.options.number("max_work")};
  Problem problem = problem_of(request);
  Answer answer = search(problem, limits);
  PlanResult best = scheduled(request, problem, answer, schedule);
  if (is_unlimited(best)) return best;
  std::int64_t work = answer.work;
  problem.most_replicas = std::min(problem.most_replicas, problem.devices());
  while (problem.most_replicas > 1) {
    problem.most_replicas /= 2;
    answer = search(problem, limits);
    work += answer.work;
    PlanResult other = scheduled(request, problem, answer, schedule);
    if (is_better(request, problem, other, best)) best = std::move(other);
  }
  if (auto* none = std::get_if<Infeasible>(&best)) {
    none->sizes_to_try = std::max<std::int64_t>(1, static_cast<std::int64_t>(kMostLatenciesToRepeat) / work);
  }
  return best;
}

PlanResult plan_dapple(const PlanRequest& request) { return plan_side_by_side(dapple_planner, request, plan_one); }

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
                 1},
                pair_bandwidth_option(PairShare::OneWay),
                pipelines_option()},
    .plan = dapple::plan_dapple,
    .variants = pipeline_variants,
};

}  // namespace stagecraft
