#include "sim/schedule/capped/pipeline_work.hpp"

#include "sim/model/bandwidths.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/stage_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

Seconds transfer_time(const Platform& platform, DeviceId from, DeviceId to, Bytes bytes) {
  Route route;
  if (!find_route(platform, platform.place(from), platform.place(to), route)) return {};
  const auto bandwidth = narrowest_bandwidth(platform, route);
  return route.latency + (bandwidth ? bytes / *bandwidth : Seconds());
}

/// The times between the replicas of the two stages; without bytes nothing is sent.
Crossing crossing_of(const PlanContext& context, const Boundary& boundary) {
  const Replicas& replicas = context.replicas;
  Crossing crossing{boundary.from, boundary.to, {}};
  for (ReplicaId a : replicas.of(boundary.from)) {
    for (ReplicaId b : replicas.of(boundary.to)) {
      BlockTimes& times = crossing.times.emplace_back();
      const Share share = flow_share(replicas[a].share, replicas[b].share);
      if (boundary.bytes == Bytes(0) || share.is_empty() || !replicas.share_a_microbatch(a, b)) continue;
      const Bytes bytes = share * boundary.bytes;
      times.forward = transfer_time(context.platform, replicas[a].device, replicas[b].device, bytes);
      times.backward = transfer_time(context.platform, replicas[b].device, replicas[a].device, bytes);
    }
  }
  return crossing;
}

/// The boundaries, with one of no bytes between consecutive stages of a pipeline that have none.
std::vector<Boundary> all_boundaries(const PlanContext& context) {
  std::vector<Boundary> all = boundaries(context.graph, context.plan);
  std::map<std::uint32_t, StageId> last;  // by pipeline
  for (StageId id : indices<StageId>(context.plan.stages.size())) {
    const auto [before, is_first] = last.try_emplace(context.plan.stages[id.value()].pipeline, id);
    if (is_first) continue;
    const StageId from = std::exchange(before->second, id);
    const auto joins = [&](const Boundary& boundary) { return boundary.from == from && boundary.to == id; };
    if (std::ranges::none_of(all, joins)) all.push_back({from, id, Bytes(0)});
  }
  return all;
}

}  // namespace

PipelineWork pipeline_work(const PlanContext& context) {
  PipelineWork work;
  const std::vector<StageProgram> programs = stage_programs(context);
  for (ReplicaId id : context.replicas.all()) {
    const Replica& replica = context.replicas[id];
    const double factor = require_time_factor(context.platform, context.graph.device_kind, replica.device);
    const StageProgram own = scaled(programs[replica.stage.value()], factor, replica.share);
    work.computations.push_back({own.forward, own.backward_total()});
  }
  for (const Boundary& boundary : all_boundaries(context)) work.crossings.push_back(crossing_of(context, boundary));
  return work;
}

}  // namespace stagecraft
