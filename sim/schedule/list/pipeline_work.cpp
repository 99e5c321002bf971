#include "sim/schedule/list/pipeline_work.hpp"

#include "sim/model/bandwidths.hpp"
#include "sim/schedule/exchange_rings.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

/// Adds the ways of tensors to a plan's work.
class Ways {
 public:
  Ways(const Platform& platform, PipelineWork& work) : platform_(platform), work_(work) { work_.ways.resize(2); }

  /// The number of the way. It ends before a device that is not connected (such a plan is refused elsewhere).
  std::uint32_t add(DeviceId from, DeviceId to, Bytes bytes) {
    TensorWay way;
    if (from == to) return 0;
    for (const Leg leg : boundary_legs(platform_, from, to)) {
      if (!find_route(platform_, platform_.place(from), platform_.place(to), leg, route_)) break;
      const std::optional<BytesPerSecond> bandwidth = narrowest_bandwidth(platform_, route_);
      const auto next = static_cast<std::uint32_t>(work_.connections);
      const auto [known, is_new] = connections_.try_emplace({from, to, leg}, next);
      if (is_new) ++work_.connections;
      way.parts[way.count++] = {known->second, route_.latency, bandwidth ? bytes / *bandwidth : Seconds()};
    }
    work_.ways.push_back(way);
    return static_cast<std::uint32_t>(work_.ways.size() - 1);
  }

 private:
  const Platform& platform_;
  PipelineWork& work_;
  std::map<std::tuple<DeviceId, DeviceId, Leg>, std::uint32_t> connections_;
  Route route_;
};

/// The ways between the replicas of the two stages. A tensor of no bytes takes the latency.
Crossing crossing_of(const Replicas& replicas, const Boundary& boundary, bool has_tensors, Ways& ways) {
  Crossing crossing{boundary.from, boundary.to, has_tensors, {}};
  for (ReplicaId a : replicas.of(boundary.from)) {
    for (ReplicaId b : replicas.of(boundary.to)) {
      std::uint32_t& way = crossing.ways.emplace_back();
      const Share share = flow_share(replicas[a].share, replicas[b].share);
      if (!has_tensors || share.is_empty() || !replicas.share_a_microbatch(a, b)) continue;
      const Bytes bytes = share * boundary.bytes;
      way = ways.add(replicas[a].device, replicas[b].device, bytes);
      ways.add(replicas[b].device, replicas[a].device, bytes);
    }
  }
  return crossing;
}

/// The consecutive stages of a pipeline that have no boundary among `all`, as boundaries of no bytes.
std::vector<Boundary> empty_boundaries(const Plan& plan, const std::vector<Boundary>& all) {
  std::vector<Boundary> empty;
  std::map<std::uint32_t, StageId> last;  // by pipeline
  for (StageId id : indices<StageId>(plan.stages.size())) {
    const auto [before, is_first] = last.try_emplace(plan.stages[id.value()].pipeline, id);
    if (is_first) continue;
    const StageId from = std::exchange(before->second, id);
    const auto joins = [&](const Boundary& boundary) { return boundary.from == from && boundary.to == id; };
    if (std::ranges::none_of(all, joins)) empty.push_back({from, id, Bytes(0)});
  }
  return empty;
}

/// The same where tensors take no time.
Crossing timeless_crossing(const Replicas& replicas, const Boundary& boundary) {
  const std::size_t pairs = replicas.of(boundary.from).size() * replicas.of(boundary.to).size();
  return {boundary.from, boundary.to, false, std::vector<std::uint32_t>(pairs)};
}

/// None if there is nothing to exchange, or no way (such a plan is refused elsewhere).
std::vector<Seconds> all_reduces_of(const PlanContext& context, const RingBuckets::Ring& ring) {
  const auto& [platform, members, of_experts] = exchange_rings(context.platform, context.replicas, ring.members);
  const Exchange::Kind kind = gradient_exchange(ring);
  std::vector<Seconds> times;
  const bool is_ring = members.front().size() > 1;
  if (ring.buckets.empty()) return times;
  if (is_ring && smallest_bandwidth_around(*platform, members.front()).apart) return times;
  Bytes begin;
  Bytes experts;
  for (const GradientBucket& bucket : ring.buckets) {
    const Bytes plain = bucket.bytes - bucket.experts;
    Seconds& time = times.emplace_back();
    if (plain > Bytes(0)) time = lowered_time(*platform, members, kind, begin, begin + plain);
    begin += plain;
    if (bucket.experts == Bytes(0)) continue;
    time += lowered_time(*platform, of_experts, kind, experts, experts + bucket.experts);
    experts += bucket.experts;
  }
  return times;
}

/// The buckets of the stage by the steps that complete them, without those for which no update waits. Without steps all
/// are complete at the backward's end.
std::vector<CompletedBucket> completed_buckets(const RingBuckets& buckets, StageId stage,
                                               const std::vector<BackwardStep>& steps) {
  std::vector<CompletedBucket> completed;
  for (const RingBucket& bucket : buckets.by_stage[stage.value()]) completed.push_back({bucket, {}});
  std::size_t next = completed.size();
  Seconds left;
  for (std::size_t at = steps.size(); at-- > 0;) {
    for (std::size_t i = 0; i < steps[at].completes; ++i) completed[--next].before_end = left;
    left += steps[at].recompute + steps[at].backward;
  }
  std::erase_if(completed, [&](const CompletedBucket& each) { return each.bucket.ring >= buckets.untied; });
  return completed;
}

void add_updates(const PlanContext& context, PipelineWork& work) {
  const Training& training = context.plan.training;
  const std::vector<std::int64_t> versions(context.plan.stages.size(), 1);  // only times count here
  const PlanWork& plan_work = *context.kept->work;
  const RingBuckets& buckets = plan_work.rings();
  for (std::size_t ring = 0; ring < buckets.untied; ++ring) {
    work.all_reduces.push_back(all_reduces_of(context, buckets.rings[ring]));
  }
  for (StageId stage : indices<StageId>(context.plan.stages.size())) {
    for (ReplicaId id : context.replicas.of(stage)) {
      const ReplicaWork& own = plan_work[id];
      const Bytes updated =
          own.programs.parameters() - held_elsewhere(context.graph, context.plan, context.replicas, versions, id);
      std::vector<BackwardStep> steps;
      if (!own.in_buckets.empty()) steps = own.in_buckets.front();
      work.updates.push_back({completed_buckets(buckets, stage, steps),
                              update_time(context.platform.kind(context.replicas[id].device), training,
                                          held_parameters(*context.kept, id, updated))});
    }
  }
}

}  // namespace

PipelineWork pipeline_work(const PlanContext& context, bool with_updates) {
  const PlanWork& plan_work = *context.kept->work;
  plan_work.require_times();
  PipelineWork work;
  for (const ReplicaId id : context.replicas.all()) {
    const TurnPrograms& own = plan_work[id].programs;
    work.computations.push_back({own.forward(), own.mean_backward()});
    const Seconds weights = own.first().weight_total();
    work.halves.push_back({own.mean_backward() - weights, weights + own.first().overhead});
  }
  const std::vector<Boundary>& all = plan_work.boundaries();
  Ways ways(context.platform, work);
  for (const Boundary& boundary : all) {
    work.crossings.push_back(crossing_of(context.replicas, boundary, true, ways));
  }
  for (const Boundary& boundary : empty_boundaries(context.plan, all)) {
    work.crossings.push_back(crossing_of(context.replicas, boundary, false, ways));
  }
  if (with_updates) add_updates(context, work);
  return work;
}

PipelineWork unit_work(const PlacedPlan& placed, Seconds backward) {
  PipelineWork work;
  work.ways.resize(2);
  for (const Boundary& boundary : empty_boundaries(placed.plan, {})) {
    work.crossings.push_back(timeless_crossing(placed.replicas, boundary));
  }
  work.all_reduces.assign(placed.replicas.rings().size(), {Seconds(0)});
  for (const ReplicaId id : placed.replicas.all()) {
    work.computations.push_back({Seconds(1), backward});
    work.halves.push_back({backward * 0.5, backward * 0.5});
    UpdateWork update;
    for (const std::size_t ring : placed.replicas.rings_of(placed.replicas[id].stage)) {
      update.buckets.push_back({{ring, 0, {}}, Seconds(0)});
    }
    work.updates.push_back(std::move(update));
  }
  return work;
}

}  // namespace stagecraft
