#include "planners/spp/candidates.hpp"

#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/families/spp_pe/processing_run.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_family.hpp"

#include <algorithm>

namespace stagecraft::spp {
namespace {

/// The plan's caps on microbatches in flight, by stage; empty if no stage has one.
std::vector<std::int64_t> caps_of(const Plan& plan) {
  const auto is_capped = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (std::ranges::none_of(plan.stages, is_capped)) return {};
  std::vector<std::int64_t> caps;
  for (const Stage& stage : plan.stages) caps.push_back(stage.in_flight.value_or(plan.microbatches));
  return caps;
}

/// Whether the schedule can run the plan with its caps; `gpipe`, for example, accepts none.
bool can_run(const PlanRequest& request, const Plan& plan) {
  return std::holds_alternative<ScheduleProgram>(compile_schedule(request.graph, request.platform, plan));
}

/// Executes the plan on the candidate's channels, and fills in its time and bounds.
void execute(const PlanRequest& request, Candidate& candidate) {
  const Plan& plan = candidate.plan;
  if (plan.schedule.name != family_spp_pe.name) {
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    options.channel_times = candidate.channels;
    options.lowered_all_reduces = candidate.all_reduces == NetworkModel::Platform;
    candidate.time = evaluate_plan(request.graph, request.platform, plan, options).iterations.back();
    return;
  }
  const ProcessingSettings settings = processing_settings(plan.schedule);
  const std::vector<std::int64_t> caps = caps_of(plan);
  PipelineTimes times =
      pipeline_times(request.graph, request.platform, {request.graph, request.platform, plan}, candidate.all_reduces);
  for (std::size_t cut = 0; cut < candidate.channels.size(); ++cut) {
    times.resources[2 * cut + 1] = {candidate.channels[cut], candidate.channels[cut]};
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    BlockTimes& block = times.resources[2 * s];
    const ExchangesEachTime each = exchanges_each_time(request.graph, request.platform, plan.training, plan.stages[s]);
    block.backward = std::max(block.backward + each.exposed, each.all - block.forward);
  }
  const ProcessingFigures figures = run_blocks(times, plan.microbatches, settings, caps);
  candidate.time = figures.time;
  if (settings.strict) candidate.bound = rounds_bound(times, figures.rounds);
  if (settings.cap != InFlightCap::None || !caps.empty()) return;
  constexpr double kSlack = 1 + 1e-12;  // so that rounding alone does not exceed the bound
  candidate.exceeds_soft_bound = candidate.time > soft_bound(times, plan.microbatches) * kSlack;
}

}  // namespace

Candidate candidate(const PlannerInfo& planner, const PlanRequest& request, const Partition& partition,
                    const PartitionShape& shape, const UsedLinks& links) {
  Candidate result;
  result.plan = empty_plan(planner, request);
  result.load = partition.load;
  for (const PartitionStage& part : partition.stages) {
    Stage& stage = result.plan.stages.emplace_back();
    stage.layers = layers_in(shape.layers, part.begin, part.end);
    for (std::size_t i = 0; i < part.replicas; ++i) stage.replicas.emplace_back(shape.devices[part.first + i]);
    if (part.replicas > 1) stage.replication = Replication::Split;
  }
  result.channels = channel_times(request.graph, result.plan, links.bandwidths.channels);
  result.all_reduces = links.all_reduces;
  execute(request, result);
  return result;
}

std::optional<Candidate> capped(const PlanRequest& request, const Candidate& free) {
  Candidate result{free.plan, free.channels, free.all_reduces, free.load, {}, {}, false};
  const ScheduleProgram program = require_schedule(request.graph, request.platform, free.plan);
  for (StageId id : indices<StageId>(free.plan.stages.size())) {
    const std::int64_t most = most_in_flight(request, program, id);
    if (most == 0) return std::nullopt;
    if (most < program.in_flight[id.value()]) result.plan.stages[id.value()].in_flight = most;
  }
  if (!can_run(request, result.plan)) return std::nullopt;
  execute(request, result);
  return result;
}

namespace {

Plan lowest_plan(const PlanRequest& request, const Candidate& free) {
  Plan plan = free.plan;
  for (Stage& stage : plan.stages) stage.in_flight = 1;
  return can_run(request, plan) ? plan : free.plan;
}

}  // namespace

Candidate lowest(const PlanRequest& request, const Candidate& free) {
  Candidate result{lowest_plan(request, free), free.channels, free.all_reduces, free.load, {}, {}, false};
  execute(request, result);
  return result;
}

Bytes least_memory_of(const PlanRequest& request, const Candidate& free) {
  const Plan plan = lowest_plan(request, free);
  const ScheduleProgram program = require_schedule(request.graph, request.platform, plan);
  return memory_needed(request.platform, ledger_peaks(request, program));
}

}  // namespace stagecraft::spp
