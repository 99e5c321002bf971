#include "experiments/view/simulation_record.hpp"

#include "experiments/view/cost_view.hpp"
#include "experiments/view/events_view.hpp"
#include "experiments/view/figures.hpp"
#include "experiments/view/ladder_view.hpp"
#include "experiments/view/long_run_view.hpp"
#include "experiments/view/rates_view.hpp"
#include "experiments/view/replanning_view.hpp"
#include "sim/io/json.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

Detail::Record breakdown_record(const MemoryBreakdown& breakdown) {
  Detail::Record record;
  for (std::size_t i = 0; i < breakdown.size(); ++i) {
    record.emplace_back(to_string(static_cast<MemoryCategory>(i)), breakdown.at(i).value());
  }
  return record;
}

Detail::Record time_record(const TimeSplit& time, bool has_groups) {
  Detail::Record record = {{"compute", time.compute.value()},
                           {"recompute", time.recompute.value()},
                           {"exposed_communication", time.exposed_communication.value()},
                           {"all_reduce", time.all_reduce.value()},
                           {"all_reduce_wait", time.collective_wait.value()},
                           {"update", time.update.value()},
                           {"idle", time.idle.value()},
                           {"ramps", time.ramps.value()}};
  if (has_groups) record.emplace(record.begin() + 2, "exchange", time.exchange.value());
  return record;
}

/// The device's load; null for a device that only a plan after a change uses.
Detail load_of(const PlanLoad& load, DeviceId device) {
  const auto found = std::ranges::lower_bound(load.devices, device, {}, &std::pair<DeviceId, Seconds>::first);
  const bool is_there = found != load.devices.end() && found->first == device;
  return is_there ? Detail(found->second.value()) : Detail();
}

bool has_groups(const Report& report) {
  return std::ranges::any_of(report.devices,
                             [](const DeviceReport& device) { return device.time.exchange > Seconds(0); });
}

Detail::Record device_record(const DeviceReport& device, const Simulation& simulation, const Platform& platform) {
  Detail::List stages;
  for (StageId stage : device.stages) stages.emplace_back(std::int64_t{stage.value()});
  return {{"name", platform.devices[device.device].name},
          {"stages", std::move(stages)},
          {"busy_s", device.busy.value()},
          {"load_s", load_of(simulation.load, device.device)},
          {"bubble_ratio", device.bubble_ratio ? Detail(*device.bubble_ratio) : Detail()},
          {"time", time_record(device.time, has_groups(simulation.report))},
          {"peak_memory_bytes", device.memory.peak.value()},
          {"memory_bytes", device.memory.capacity.value()},
          {"idle_memory_bytes", device.memory.idle().value()},
          {"idle_memory_ratio", device.memory.idle_share()},
          {"peak_at_s", device.memory.peak_at.value()},
          {"in_flight_peak", device.in_flight_peak},
          {"peak_breakdown", breakdown_record(device.memory.breakdown)}};
}

Detail::List device_list(const Simulation& simulation, const Platform& platform) {
  Detail::List list;
  for (const DeviceReport& device : simulation.report.devices) {
    list.emplace_back(device_record(device, simulation, platform));
  }
  return list;
}

Detail::List host_list(const Report& report, const Platform& platform) {
  Detail::List list;
  for (const HostReport& host : report.hosts) {
    list.emplace_back(Detail::Record{{"name", platform.hosts[host.host].name},
                                     {"peak_memory_bytes", host.memory.peak.value()},
                                     {"memory_bytes", host.memory.capacity.value()},
                                     {"peak_at_s", host.memory.peak_at.value()}});
  }
  return list;
}

Detail::List link_list(const Report& report, const Platform& platform, const Explanation& explanation) {
  Detail::List list;
  for (const LinkReport& link : report.links) {
    const auto loads = explanation.loads.find(link.link);
    list.emplace_back(
        Detail::Record{{"name", platform.links[link.link].name},
                       {"bytes", link.bytes().value()},
                       {"utilisation", link.utilisation},
                       {"carries", loads == explanation.loads.end() ? Detail::List{} : load_list(loads->second)}});
  }
  return list;
}

/// `stage`, `link`, `ramps`, `waits`, `transfers`, `all_reduce` or `all_reduce_wait`.
std::string bottleneck_kind(const Bottleneck& bottleneck, const Platform& platform) {
  if (bottleneck.kind == Bottleneck::Kind::Stage) return "stage";
  if (bottleneck.kind == Bottleneck::Kind::Link) return "link";
  std::string kind = bottleneck_name(bottleneck, platform);
  std::ranges::replace_if(kind, [](char each) { return each == '-' || each == ' '; }, '_');
  return kind;
}

Detail bottleneck_record(const Report& report, const Platform& platform) {
  if (!report.bottleneck) return {};
  const Bottleneck& bottleneck = *report.bottleneck;
  Detail::Record shares;
  for (const Bottleneck& share : bottleneck_shares(report)) {
    shares.emplace_back(bottleneck_kind(share, platform), share.share);
  }
  return Detail::Record{{"kind", bottleneck_kind(bottleneck, platform)},
                        {"name", bottleneck_name(bottleneck, platform)},
                        {"share", bottleneck.share},
                        {"device", platform.devices[bottleneck.device].name},
                        {"shares", std::move(shares)}};
}

Detail::List overflow_list(const Report& report, const Platform& platform) {
  Detail::List list;
  for (const MemoryOverflow& overflow : report.overflows) {
    list.emplace_back(Detail::Record{{"name", platform.place_name(overflow.place)},
                                     {"at_s", overflow.at.value()},
                                     {"until_s", overflow.until ? Detail(overflow.until->value()) : Detail()},
                                     {"excess_bytes", overflow.excess.value()}});
  }
  return list;
}

Detail::List seconds_list(const std::vector<Seconds>& values) {
  Detail::List list;
  for (Seconds value : values) list.emplace_back(value.value());
  return list;
}

Detail place_or_null(const Platform& platform, PlaceId place) {
  return place.is_none() ? Detail() : Detail(platform.place_name(place));
}

}  // namespace

Detail::List timeline_list(const Timeline& timeline, const Platform& platform) {
  Detail::List list;
  for (const std::uint32_t i : in_order_of_starts(timeline)) {
    const TimelineEntry& entry = timeline[i];
    const auto [from, to] = ends_of(platform, entry.from, entry.to, entry.leg);
    list.emplace_back(
        Detail::Record{{"op", to_string(entry.kind)},
                       {"stage", entry.stage.is_none() ? Detail() : Detail(std::int64_t{entry.stage.value()})},
                       {"microbatch", std::int64_t{entry.microbatch}},
                       {"from", place_or_null(platform, from)},
                       {"to", place_or_null(platform, to)},
                       {"start_s", entry.start.value()},
                       {"end_s", entry.end.value()},
                       {"bytes", entry.bytes.value()},
                       {"aborted", entry.aborted}});
  }
  return list;
}

Detail::Record simulation_record(const Simulation& simulation, const LayerGraph& graph, const Plan& plan,
                                 const Platform& platform, const Explanation& explanation, bool timings) {
  const Report& report = simulation.report;
  const SimulatedPlan run{simulation, plan, platform};
  const auto figure = [&](FigureId id) { return figure_entry(id, run); };
  Detail::Record record{{"outcome", report.out_of_memory() ? "out_of_memory" : "ok"},
                        {"engine", to_string(simulation.choices.engine)},
                        {"network", to_string(simulation.choices.network)},
                        {"schedule", plan.schedule.name},
                        {"events", events_record(simulation, platform)},
                        figure(FigureId::IterationTime),
                        {"iterations_s", seconds_list(report.iterations)},
                        figure(FigureId::Load),
                        figure(FigureId::Period),
                        figure(FigureId::LeastPeriod),
                        figure(FigureId::Bound),
                        figure(FigureId::OverBound),
                        figure(FigureId::BoundBy),
                        {"least_possible", simulation.ladder ? Detail(ladder_record(*simulation.ladder)) : Detail()},
                        figure(FigureId::RestsOn),
                        {"converged", report.period ? Detail(report.converged()) : Detail()},
                        figure(FigureId::Drift),
                        {"run_length", report.period ? Detail(simulation.length.microbatches) : Detail()},
                        {"long_run", long_run_record(simulation.long_run)},
                        {"samples_per_update", largest(simulation.updates).samples},
                        figure(FigureId::Staleness),
                        figure(FigureId::Throughput)};
  for (auto& entry : rates_record(simulation.rates)) record.push_back(std::move(entry));
  for (auto& entry : cost_record(simulation.cost)) record.push_back(std::move(entry));
  for (const FigureId id :
       {FigureId::BubbleRatio, FigureId::SpanBubbleRatio, FigureId::IdealBubbleRatio, FigureId::RecomputeTime,
        FigureId::ExposedCommunication, FigureId::IdleMemory, FigureId::IdleMemoryRatio,
        FigureId::LargestIdleMemoryRatio, FigureId::StageIdleMemoryRatio}) {
    record.push_back(figure(id));
  }
  record.emplace_back("devices", device_list(simulation, platform));
  record.emplace_back("hosts", host_list(report, platform));
  record.emplace_back("links", link_list(report, platform, explanation));
  record.emplace_back("bottleneck", bottleneck_record(report, platform));
  record.emplace_back("all_busy_time_s", all_busy_time(report).value());
  record.emplace_back("overflows", overflow_list(report, platform));
  record.emplace_back("predicted", figures_record(plan.predicted, platform));
  record.emplace_back("evaluated", figures_record(simulation.evaluated, platform));
  record.push_back(figure(FigureId::PredictionError));
  record.push_back(figure(FigureId::SimulatedOps));
  for (auto& entry : replanning_record(simulation, graph, plan, platform)) record.push_back(std::move(entry));
  if (report.out_of_memory()) record.emplace_back("would_fit", remedy_record(explanation.remedies));
  if (timings) record.emplace_back("wall_time_s", simulation.wall_time.value());
  return record;
}

}  // namespace stagecraft
