#include "experiments/run/plan_load.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/device_loads.hpp"
#include "sim/schedule/families/spp_pe/spp_pe.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

/// Whether each direction across a cut has a channel of its own on the analytic network.
bool is_full_duplex(const ScheduleChoice& schedule) {
  return schedule.name == family_spp_pe.name && processing_settings(schedule).full_duplex;
}

/// The load of the busiest stage or channel, or per microbatch that of the busiest channel. There is none if the
/// platform lacks a route that the analytic network needs, if the plan has several pipelines, which share devices, if
/// shares are unequal, if replicas are groups of devices, or if a plan with literal orders has edges that skip stages:
/// their tensors then go straight to their receivers, not from stage to stage.
std::optional<Seconds> load_of_chain(const LayerGraph& graph, const Platform& platform, const KeptPlan& kept,
                                     bool synchronous) {
  const Plan& plan = kept.plan;
  const bool is_literal = plan.schedule.name == "literal";
  if (is_literal && kept.work->boundaries() != chain_boundaries(graph, plan)) return std::nullopt;
  if (std::ranges::any_of(plan.stages, [](const Stage& stage) { return stage.pipeline != 0; })) return std::nullopt;
  if (has_unequal_shares(plan) || kept.replicas.group_size() > 1) return std::nullopt;
  try {
    const PipelineTimes times = pipeline_times(graph, platform, kept);
    if (synchronous) return pipeline_load(times, plan.microbatches, is_full_duplex(plan.schedule));
    Seconds busiest;
    for (std::size_t at = 1; at < times.resources.size(); at += 2) {
      busiest = std::max(busiest, times.resources[at].total());
    }
    return busiest;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// The time for which the busiest link carries what crosses it per microbatch.
Seconds busiest_link(const Platform& platform, const Traffic& traffic) {
  Seconds busiest;
  for (const auto& [link, loads] : loads_by_link(platform, traffic)) {
    double bytes = 0.0;
    for (const auto& [cause, amount] : loads) bytes += amount;
    const double time = bytes / static_cast<double>(traffic.parts) / platform.links[link].bandwidth.value();
    busiest = std::max(busiest, Seconds(time));
  }
  return busiest;
}

}  // namespace

PlanLoad load_of(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                 NetworkModel network, const Traffic& traffic) {
  PlanLoad load;
  load.devices = device_loads(graph, platform, program);
  Seconds of_devices;
  for (const auto& [device, time] : load.devices) of_devices = std::max(of_devices, time);
  load.busiest = load_of_chain(graph, platform, *program.kept, program.synchronous);
  if (load.busiest) load.busiest = std::max(*load.busiest, of_devices);
  if (program.synchronous) return load;
  load.least_period =
      network == NetworkModel::Analytic ? load.busiest : std::max(of_devices, busiest_link(platform, traffic));
  return load;
}

}  // namespace stagecraft
