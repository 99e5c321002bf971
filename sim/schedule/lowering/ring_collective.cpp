#include "sim/schedule/lowering/ring_collective.hpp"

#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

RingCollective::RingCollective(LoweringState& state, RingWork work, bool is_lowered)
    : state_(state), work_(std::move(work)) {
  if (work_.members.size() == 1) return;
  const Platform& platform = state_.shape.platform();
  const MemberRings rings = member_rings(state_.replicas(), work_.members);
  const std::vector<DeviceId>& devices = rings.front();
  std::optional<BytesPerSecond> slowest;
  const bool is_analytic = state_.shape.is_analytic();
  if (is_analytic && !is_lowered) slowest = smallest_bandwidth_among(platform, devices);
  const std::vector<Bytes> flows = ring_bytes(work_.buckets, std::ssize(devices));
  Bytes before;
  for (std::size_t k = 0; k < work_.buckets.size(); ++k) {
    const Bytes end = before + work_.buckets[k];
    if (slowest) {
      buckets_.push_back(
          by_formula(analytic_time(platform, devices, work_.kind, work_.buckets[k], flows[k], *slowest)));
    } else if (is_analytic || !platform.spec.collectives.table.empty()) {
      buckets_.push_back(by_formula(lowered_time(platform, rings, work_.kind, before, end)));
    } else {
      buckets_.push_back(over_links(rings, before, end));
    }
    before = end;
  }
}

Op RingCollective::op(OpKind kind) const {
  Op op;
  op.kind = kind;
  op.chunk = work_.number;
  return op;
}

Op RingCollective::flow() const {
  switch (work_.kind) {
    case Exchange::Kind::AllReduce: return op(OpKind::AllReduce);
    case Exchange::Kind::ReduceScatter: return op(OpKind::ReduceScatter);
    case Exchange::Kind::AllGather: return op(OpKind::AllGather);
  }
  return op(OpKind::AllReduce);
}

RingCollective::Phases RingCollective::by_formula(Seconds seconds) const {
  Phase phase;
  const Platform& platform = state_.shape.platform();
  for (const std::vector<DeviceId>& ring : member_rings(state_.replicas(), work_.members)) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      Op flow = this->flow();
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
RingCollective::Phases RingCollective::over_links(const MemberRings& rings, Bytes begin, Bytes end) const {
  const Platform& platform = state_.shape.platform();
  Phases phases;
  for (const AllReducePhase& planned : part_of(all_reduce(platform, rings, end - begin), work_.kind).phases) {
    Phase& phase = phases.emplace_back();
    phase.latency = latency_before(platform, planned);
    const std::vector<Seconds> times = flow_times(platform, planned, begin, end);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const AllReduceFlow& part = planned.flows[i];
      Op flow = this->flow();
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
  const StageId stage = state_.run_stage(state_.replicas()[work_.members.front()].stage, local);
  const auto append_mark = [&](OpKind kind, Seconds seconds, const std::vector<OpId>& waits_for) {
    Op mark = op(kind);
    mark.stage = stage;
    mark.microbatch = first_microbatch;
    mark.seconds = seconds;
    const OpId id = state_.writer.append(mark);
    state_.writer.depend_on(waits_for);
    return id;
  };
  std::vector<OpId> flows = after;
  for (const Phase& phase : buckets_[bucket]) {
    const OpId begin = append_mark(OpKind::CollectiveBegin, phase.latency, flows);
    flows.clear();
    for (Op flow : phase.flows) {
      flow.stage = stage;
      flow.microbatch = first_microbatch;
      flows.push_back(state_.writer.append(flow));
      state_.writer.depend_on(begin);
    }
  }
  return append_mark(OpKind::CollectiveEnd, Seconds(0), flows);
}

}  // namespace stagecraft
