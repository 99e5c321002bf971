#include "sim/schedule/pipeline_times.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/all_reduce.hpp"
#include "sim/schedule/gradient_buckets.hpp"
#include "sim/schedule/ring_buckets.hpp"
#include "sim/schedule/turn_programs.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// The number of parts into which a stage divides each microbatch.
double parts(const Stage& stage) {
  return stage.replication == Replication::Split ? static_cast<double>(stage.replicas.size()) : 1.0;
}

std::optional<BytesPerSecond> require_connected(const Platform& platform, const SmallestBandwidth& smallest) {
  if (!smallest.apart) return smallest.bandwidth;
  const auto [a, b] = *smallest.apart;
  throw InputError("the analytic network uses the slowest route within a stage and between stages, but " +
                       platform.devices[a].name + " and " + platform.devices[b].name + " are not connected",
                   {}, "add a link, a route or a default_link to the platform, or use the network 'platform'");
}

/// The work of a stage's replicas for their share of a microbatch, on each of its devices.
struct StageWork {
  std::vector<Seconds> totals;  ///< by position of the device; means over the microbatches
  std::optional<TurnPrograms> slowest;
};

StageWork stage_work(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                     const std::vector<GradientBucket>& buckets) {
  ReplicaTurns programs(graph, platform, stage, buckets);
  const Share share = largest_share(stage, graph.microbatch_size);
  StageWork work;
  Seconds most{-1.0};
  for (DeviceId device : devices_of(stage)) {
    TurnPrograms program = programs.of(device, share);
    work.totals.push_back(program.forward() + program.mean_backward());
    if (work.totals.back() <= most) continue;
    most = work.totals.back();
    work.slowest = std::move(program);
  }
  return work;
}

/// The time of each alternating replica as a part of the slowest one's; empty if all are equally fast.
std::vector<double> paces(const Stage& stage, const std::vector<Seconds>& totals) {
  const Seconds slowest = *std::ranges::max_element(totals);
  const auto is_slowest = [&](Seconds total) { return total == slowest; };
  if (alternating_replicas(stage) == 1 || std::ranges::all_of(totals, is_slowest)) return {};
  std::vector<double> paces;
  for (Seconds total : totals) paces.push_back(total / slowest);
  return paces;
}

/// The time of each bucket's all-reduce.
std::vector<Seconds> all_reduce_times(const Platform& platform, const Replicas& replicas,
                                      const RingBuckets::Ring& ring) {
  std::vector<DeviceId> devices;
  for (const ReplicaId member : ring.members) devices.push_back(replicas[member].device);
  const std::optional<BytesPerSecond> slowest = smallest_bandwidth_among(platform, devices);
  std::vector<Seconds> times;
  if (!slowest) return times;
  const std::vector<Bytes> flows = ring_bytes(ring.buckets, std::ssize(devices));
  for (std::size_t k = 0; k < ring.buckets.size(); ++k) {
    times.push_back(analytic_all_reduce(platform, devices, ring.buckets[k].bytes, flows[k], *slowest));
  }
  return times;
}

/// The all-reduces of a stage and its update after the last backward of its slowest replica. One of tied parameters
/// counts as if all its stages ended their backwards together.
Seconds synchronise_time(const LayerGraph& graph, const Platform& platform, const Plan& plan, StageId id,
                         const RingBuckets& buckets, const Replicas& replicas) {
  const Stage& stage = plan.stages[id.value()];
  Seconds exposed;
  for (const std::size_t ring : buckets.rings_of[id.value()]) {
    std::vector<GradientBucket> own;
    for (const RingBucket& bucket : buckets.by_stage[id.value()]) {
      if (bucket.ring == ring) own.push_back({buckets.rings[ring].buckets[bucket.bucket].bytes, bucket.completed_by});
    }
    if (own.empty()) continue;
    const StageProgram work = stage_work(graph, platform, stage, own).slowest->first();
    const std::vector<Seconds> times = all_reduce_times(platform, replicas, buckets.rings[ring]);
    exposed = std::max(exposed, exposed_all_reduce(work.backward, times));
  }
  Seconds update;
  for (DeviceId device : devices_of(stage)) {
    const Bytes parameters = parameters_of(graph, stage.layers);
    update = std::max(update, update_time(platform.kind(device), plan.training, parameters));
  }
  return exposed + update;
}

/// The longest time that an alternating replica of the stage computes in an iteration.
Seconds busiest_replica(const PipelineTimes& times, std::size_t stage, std::int64_t microbatches) {
  const Seconds each = times.resources[2 * stage].total();
  const std::int64_t replicas = times.alternating[stage];
  const auto count = [&](std::int64_t replica) {
    return static_cast<double>(turns_taken(replica, replicas, microbatches));
  };
  if (times.pace[stage].empty()) return each * count(0);
  Seconds most;
  for (std::int64_t replica = 0; replica < std::min(replicas, microbatches); ++replica) {
    most = std::max(most, each * times.pace[stage][static_cast<std::size_t>(replica)] * count(replica));
  }
  return most;
}

}  // namespace

PipelineTimes pipeline_times(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const std::vector<Boundary> channels = chain_boundaries(graph, plan);
  const Replicas replicas(plan);
  const RingBuckets buckets = ring_buckets(graph, plan, replicas);
  PipelineTimes times;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    const StageWork work = stage_work(graph, platform, stage, {});
    if (s > 0) {
      const Seconds transfer = channel_time(platform, plan, channels[s - 1]);
      times.resources.push_back({transfer, transfer});
    }
    times.resources.push_back({work.slowest->forward(), work.slowest->mean_backward()});
    times.alternating.push_back(alternating_replicas(stage));
    times.pace.push_back(paces(stage, work.totals));
    times.synchronise.push_back(synchronise_time(graph, platform, plan, StageId(s), buckets, replicas));
  }
  return times;
}

Seconds pipeline_load(const PipelineTimes& times, std::int64_t microbatches, bool full_duplex) {
  Seconds load;
  for (std::size_t s = 0; s < times.stages(); ++s) {
    load = std::max(load, busiest_replica(times, s, microbatches) + times.synchronise[s]);
  }
  for (std::size_t at = 1; at < times.resources.size(); at += 2) {
    const BlockTimes& channel = times.resources[at];
    const Seconds each = full_duplex ? std::max(channel.forward, channel.backward) : channel.total();
    load = std::max(load, each * static_cast<double>(microbatches));
  }
  return load;
}

Seconds channel_time(const Platform& platform, const Plan& plan, const Boundary& boundary) {
  const Stage& from = plan.stages[boundary.from.value()];
  const Stage& to = plan.stages[boundary.to.value()];
  const auto smallest =
      require_connected(platform, smallest_bandwidth_both_ways(platform, devices_of(from), devices_of(to)));
  return smallest ? boundary.bytes / *smallest / (parts(from) * parts(to)) : Seconds(0);
}

std::optional<BytesPerSecond> smallest_bandwidth_among(const Platform& platform, const std::vector<DeviceId>& devices) {
  if (devices.size() < 2) return std::nullopt;
  return require_connected(platform, smallest_bandwidth_both_ways(platform, devices, devices, PairUse::Collective));
}

}  // namespace stagecraft
