#include "sim/schedule/lowering/ring_collective.hpp"

#include "sim/schedule/flow_times.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <utility>

namespace stagecraft {
namespace {

OpKind flow_kind(Exchange::Kind kind) {
  switch (kind) {
    case Exchange::Kind::AllReduce: return OpKind::AllReduce;
    case Exchange::Kind::ReduceScatter: return OpKind::ReduceScatter;
    case Exchange::Kind::AllGather: return OpKind::AllGather;
    case Exchange::Kind::AllToAll:
    case Exchange::Kind::Shift: break;  // inside groups only
  }
  return OpKind::AllReduce;
}

}  // namespace

RingCollective::RingCollective(LoweringState& state, RingWork work, bool is_lowered)
    : state_(state), work_(std::move(work)) {
  if (work_.buckets.empty()) return;
  const ExchangeRings rings = exchange_rings(state_.shape.platform(), state_.replicas(), work_.members);
  const std::vector<DeviceId>& devices = rings.plain.front();
  std::optional<BytesPerSecond> slowest;
  if (state_.shape.is_analytic() && !is_lowered) slowest = smallest_bandwidth_among(*rings.platform, devices);
  Bytes before;
  Bytes experts_before;
  for (const auto& [all, experts] : work_.buckets) {
    const Bytes end = before + (all - experts);
    std::vector<CollectivePhase>& phases = buckets_.emplace_back();
    if (slowest) {
      const std::int64_t members = std::ssize(devices);
      const Bytes flow = ring_bytes(end, members) - ring_bytes(before, members);
      phases = by_formula(rings.plain, analytic_time(*rings.platform, devices, work_.kind, all, flow, *slowest));
    } else if (end > before && devices.size() > 1) {
      phases = lowered(*rings.platform, rings.plain, before, end);
    }
    before = end;
    if (experts == Bytes(0)) continue;
    const std::vector<CollectivePhase> after =
        lowered(*rings.platform, rings.experts, experts_before, experts_before + experts);
    phases.insert(phases.end(), after.begin(), after.end());
    experts_before += experts;
  }
}

std::vector<CollectivePhase> RingCollective::lowered(const Platform& platform, const MemberRings& rings, Bytes begin,
                                                     Bytes end) const {
  const bool stands_for_groups = state_.shape.platform().members != nullptr;
  const bool is_over_links =
      !state_.shape.is_analytic() && platform.spec.collectives.table.empty() && !stands_for_groups;
  return is_over_links ? over_links(rings, begin, end)
                       : by_formula(rings, lowered_time(platform, rings, work_.kind, begin, end));
}

std::vector<CollectivePhase> RingCollective::by_formula(const MemberRings& rings, Seconds seconds) const {
  CollectivePhase phase;
  const Platform& platform = state_.shape.platform();
  // Where devices stand for groups, the rings are those of their members.
  for (const std::vector<DeviceId>& ring :
       platform.members ? MemberRings{devices_of(state_.replicas(), work_.members)} : rings) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      Op flow;
      flow.from = platform.place(ring[i]);
      flow.to = platform.place(ring[(i + 1) % ring.size()]);
      flow.literal = true;
      flow.seconds = seconds;
      phase.flows.push_back(flow);
    }
  }
  return {std::move(phase)};
}

/// The collective of the bucket that is [begin, end) of the gradients.
std::vector<CollectivePhase> RingCollective::over_links(const MemberRings& rings, Bytes begin, Bytes end) const {
  const Platform& platform = state_.shape.platform();
  std::vector<CollectivePhase> phases;
  for (const AllReducePhase& planned : part_of(all_reduce(platform, rings, end - begin), work_.kind).phases) {
    CollectivePhase& phase = phases.emplace_back();
    phase.latency = latency_before(platform, planned);
    const std::vector<Seconds> times = flow_times(platform, planned, begin, end);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const AllReduceFlow& part = planned.flows[i];
      Op flow;
      flow.seconds = times[i];
      flow.from = platform.place(part.from);
      flow.to = platform.place(part.to);
      flow.bytes = flow_bytes(platform, part, begin, end);
      phase.flows.push_back(flow);
    }
  }
  return phases;
}

OpId RingCollective::append(std::size_t bucket, const std::vector<OpId>& after, std::uint32_t first_microbatch) {
  const auto local = static_cast<std::uint32_t>(first_microbatch - state_.first());
  Op op;
  op.chunk = work_.number;
  op.stage = state_.run_stage(state_.replicas()[work_.members.front()].stage, local);
  op.microbatch = first_microbatch;
  CollectiveOps ops{op, op, op};
  ops.begin.kind = OpKind::CollectiveBegin;
  ops.flow.kind = flow_kind(work_.kind);
  ops.end.kind = OpKind::CollectiveEnd;
  return append_phases(state_.writer, buckets_[bucket], ops, after);
}

}  // namespace stagecraft
