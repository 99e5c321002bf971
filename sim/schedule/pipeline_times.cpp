#include "sim/schedule/pipeline_times.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/schedule/exchange_rings.hpp"
#include "sim/schedule/gradient_buckets.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

std::optional<BytesPerSecond> require_connected(const Platform& platform, const SmallestBandwidth& smallest) {
  if (!smallest.apart) return smallest.bandwidth;
  const auto [a, b] = *smallest.apart;
  throw InputError("the analytic network uses the slowest route within a stage and between stages, but " +
                       platform.devices[a].name + " and " + platform.devices[b].name + " are not connected",
                   {}, "add a link, a route or a default_link to the platform, or use the network 'platform'");
}

/// The work of a stage's replicas for the largest share of a microbatch, on each of its devices.
struct StageWork {
  std::vector<Seconds> totals;           ///< by position of the device; means over the microbatches
  const ReplicaWork* slowest = nullptr;  ///< the first of those that take longest
};

StageWork stage_work(const KeptPlan& kept, StageId stage) {
  StageWork work;
  Seconds most{-1.0};
  for (std::size_t i = 0; i < kept.plan.stages[stage.value()].replicas.size(); ++i) {
    const ReplicaWork& own = kept.work->at_largest_share(stage, i);
    work.totals.push_back(own.programs.forward() + own.programs.mean_backward());
    if (work.totals.back() <= most) continue;
    most = work.totals.back();
    work.slowest = &own;
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

/// The times of collectives of the buckets, one after the other; none for a device alone.
template <class Bucket>
std::vector<Seconds> collective_times(const ExchangeRings& rings, Exchange::Kind kind,
                                      const std::vector<Bucket>& buckets, NetworkModel network) {
  const Platform& platform = *rings.platform;
  const std::vector<DeviceId>& devices = rings.plain.front();
  std::vector<Seconds> times(buckets.size());
  const std::optional<BytesPerSecond> slowest = smallest_bandwidth_among(platform, devices);
  if (devices.size() > 1 && !slowest) return {};
  const std::int64_t members = std::ssize(devices);
  Bytes before;
  Bytes experts;
  for (std::size_t k = 0; k < buckets.size(); ++k) {
    const Bytes end = before + (buckets[k].bytes - buckets[k].experts);
    if (network != NetworkModel::Platform && members > 1) {
      const Bytes flow = ring_bytes(end, members) - ring_bytes(before, members);
      times[k] = analytic_time(platform, devices, kind, buckets[k].bytes, flow, *slowest);
    } else if (end > before) {
      times[k] = lowered_time(platform, rings.plain, kind, before, end);
    }
    before = end;
    if (buckets[k].experts == Bytes(0)) continue;
    times[k] += lowered_time(platform, rings.experts, kind, experts, experts + buckets[k].experts);
    experts += buckets[k].experts;
  }
  return times;
}

/// The backward of a stage's slowest replica, with what it completes of one ring alone.
std::vector<BackwardStep> completing(const ReplicaWork& work, const std::vector<RingBucket>& buckets,
                                     std::size_t ring) {
  if (work.in_buckets.empty()) {  // all at its end
    std::vector<BackwardStep> steps = work.programs.first().backward;
    steps.back().completes = static_cast<std::size_t>(std::ranges::count(buckets, ring, &RingBucket::ring));
    return steps;
  }
  std::vector<BackwardStep> steps = work.in_buckets.front();
  std::size_t next = 0;
  for (BackwardStep& step : steps) {
    const auto first = buckets.begin() + static_cast<std::ptrdiff_t>(next);
    next += step.completes;
    step.completes = static_cast<std::size_t>(std::count_if(first, buckets.begin() + static_cast<std::ptrdiff_t>(next),
                                                            [&](const RingBucket& each) { return each.ring == ring; }));
  }
  return steps;
}

/// The exchanges of a stage and its update after the last backward of its slowest replica. One of tied parameters
/// counts as if all its stages ended their backwards together.
Seconds synchronise_time(const LayerGraph& graph, const Platform& platform, const KeptPlan& kept, StageId id,
                         const ReplicaWork& slowest, NetworkModel network) {
  const Stage& stage = kept.plan.stages[id.value()];
  const RingBuckets& rings = kept.work->rings();
  const std::vector<RingBucket>& buckets = rings.by_stage[id.value()];
  Seconds exposed;
  Seconds gathered;  // afterwards; else it is under the next iteration's forward
  for (const std::size_t at : rings.rings_of[id.value()]) {
    const RingBuckets::Ring& ring = rings.rings[at];
    const ExchangeRings members = exchange_rings(platform, kept.replicas, ring.members);
    if (kept.plan.training.bucket() == Bytes(0)) {
      for (const Seconds time : collective_times(members, Exchange::Kind::AllGather, ring.weights, network))
        gathered += time;
    }
    if (std::ranges::count(buckets, at, &RingBucket::ring) == 0) continue;
    const std::vector<Seconds> summed = collective_times(members, gradient_exchange(ring), ring.buckets, network);
    exposed = std::max(exposed, exposed_all_reduce(completing(slowest, buckets, at), summed));
  }
  Seconds update;
  const HeldParameters held = held_parameters(kept, kept.replicas.of(id).front(), parameters_of(graph, stage.layers));
  for (DeviceId device : devices_of(stage)) {
    update = std::max(update, update_time(platform.kind(device), kept.plan.training, held));
  }
  return exposed + update + gathered;
}

/// The longest time that an alternating replica of the stage computes in an iteration.
Seconds busiest_replica(const PipelineTimes& times, std::size_t stage, std::int64_t microbatches) {
  const Seconds each = times.resources[2 * stage].total();
  const std::int64_t replicas = times.alternating[stage];
  const auto count = [turns = Rotation(replicas), microbatches](std::int64_t replica) {
    return static_cast<double>(turns.count(static_cast<std::uint32_t>(replica), microbatches));
  };
  if (times.pace[stage].empty()) return each * count(0);
  Seconds most;
  for (std::int64_t replica = 0; replica < std::min(replicas, microbatches); ++replica) {
    most = std::max(most, each * times.pace[stage][static_cast<std::size_t>(replica)] * count(replica));
  }
  return most;
}

}  // namespace

PipelineTimes pipeline_times(const LayerGraph& graph, const Platform& platform, const KeptPlan& kept,
                             NetworkModel all_reduces) {
  kept.work->require_times();
  STAGECRAFT_CHECK(kept.replicas.group_size() == 1, "pipelines of groups of devices have no times in closed form");
  const std::vector<Boundary> channels = chain_boundaries(graph, kept.plan);
  PipelineTimes times;
  for (std::size_t s = 0; s < kept.plan.stages.size(); ++s) {
    const Stage& stage = kept.plan.stages[s];
    const StageWork work = stage_work(kept, StageId(s));
    if (s > 0) {
      const Seconds transfer = channel_time(platform, kept.plan, channels[s - 1]);
      times.resources.push_back({transfer, transfer});
    }
    times.resources.push_back({work.slowest->programs.forward(), work.slowest->programs.mean_backward()});
    times.alternating.push_back(alternating_replicas(stage));
    times.pace.push_back(paces(stage, work.totals));
    times.synchronise.push_back(synchronise_time(graph, platform, kept, StageId(s), *work.slowest, all_reduces));
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
  return smallest ? boundary.bytes / *smallest / (parts_of(from) * parts_of(to)) : Seconds(0);
}

std::optional<BytesPerSecond> smallest_bandwidth_among(const Platform& platform, const std::vector<DeviceId>& devices) {
  if (devices.size() < 2) return std::nullopt;
  return require_connected(platform, smallest_bandwidth_both_ways(platform, devices, devices, PairUse::Collective));
}

}  // namespace stagecraft
