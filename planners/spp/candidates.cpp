#include "planners/spp/candidates.hpp"

#include "planners/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/processing_run.hpp"
#include "sim/schedule/schedule_info.hpp"
#include "sim/schedule/spp_pe.hpp"

#include <algorithm>

namespace stagecraft::spp {
namespace {

/// The plan's caps by stage; empty if there are none.
std::vector<std::int64_t> caps_of(const Plan& plan) {
  const auto is_capped = [](const Stage& stage) { return stage.in_flight.has_value(); };
  if (std::ranges::none_of(plan.stages, is_capped)) return {};
  std::vector<std::int64_t> caps;
  for (const Stage& stage : plan.stages) caps.push_back(stage.in_flight.value_or(plan.microbatches));
  return caps;
}

/// Fills in what executing the plan shows.
void execute(const PlanRequest& request, Candidate& candidate) {
  const Plan& plan = candidate.plan;
  if (plan.schedule.name != spp_pe_schedule.name) {
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    candidate.time = evaluate_plan(request.graph, request.platform, plan, options).iterations.back();
    return;
  }
  const ProcessingSettings settings = processing_settings(plan.schedule);
  const std::vector<std::int64_t> caps = caps_of(plan);
  const PipelineTimes times = pipeline_times(request.graph, request.platform, plan);
  const ProcessingFigures figures = run_blocks(times, plan.microbatches, settings, caps);
  candidate.time = figures.time;
  if (settings.strict) candidate.bound = rounds_bound(times, figures.rounds);
  if (settings.cap != InFlightCap::None || !caps.empty()) return;
  constexpr double kSlack = 1 + 1e-12;  // rounding exceeds nothing
  candidate.exceeds_soft_bound = candidate.time > soft_bound(times, plan.microbatches) * kSlack;
}

}  // namespace

Candidate candidate(const PlannerInfo& planner, const PlanRequest& request, const Partition& partition,
                    const std::vector<LayerId>& layers, const std::vector<DeviceId>& devices) {
  const auto slice = [](const auto& all, std::size_t begin, std::size_t end) {
    const auto at = [&](std::size_t i) { return all.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::vector(at(begin), at(end));
  };
  Candidate result;
  result.plan = empty_plan(planner, request);
  result.load = partition.load;
  for (const PartitionStage& part : partition.stages) {
    Stage& stage = result.plan.stages.emplace_back();
    stage.layers = slice(layers, part.begin, part.end);
    stage.devices = slice(devices, part.first, part.first + part.replicas);
    if (part.replicas > 1) stage.replication = Replication::Split;
  }
  execute(request, result);
  return result;
}

std::optional<Candidate> capped(const PlanRequest& request, const Candidate& free) {
  Candidate result{free.plan, free.load, {}, {}, false};
  for (StageId id : indices<StageId>(free.plan.stages.size())) {
    const std::int64_t asked = in_flight(free.plan, id);
    const std::int64_t most = most_in_flight(request.graph, request.platform, free.plan, id, asked);
    if (most == 0) return std::nullopt;
    if (most < asked) result.plan.stages[id.value()].in_flight = most;
  }
  execute(request, result);
  return result;
}

Bytes least_memory_of(const PlanRequest& request, const Candidate& free) {
  Plan plan = free.plan;
  for (Stage& stage : plan.stages) stage.in_flight = 1;
  plan = prepared(request.graph, request.platform, std::move(plan));
  return memory_needed(request.platform, ledger_peaks(request.graph, plan));
}

}  // namespace stagecraft::spp
