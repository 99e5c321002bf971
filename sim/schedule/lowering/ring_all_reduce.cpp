#include "sim/schedule/lowering/ring_all_reduce.hpp"

#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

RingAllReduce::RingAllReduce(LoweringState& state, AllReduceRing ring, bool is_lowered)
    : state_(state), ring_(std::move(ring)) {
  if (ring_.members.size() == 1) return;
  const Platform& platform = state.shape.platform();
  const MemberRings rings = member_rings(state.replicas(), ring_.members);
  const std::vector<DeviceId>& devices = rings.front();
  std::optional<BytesPerSecond> slowest;
  const bool is_analytic = state.shape.is_analytic();
  if (is_analytic && !is_lowered) slowest = smallest_bandwidth_among(platform, devices);
  const std::vector<Bytes> flows = ring_bytes(ring_.buckets, static_cast<std::int64_t>(devices.size()));
  Bytes before;
  for (std::size_t k = 0; k < ring_.buckets.size(); ++k) {
    const Bytes bytes = ring_.buckets[k].bytes;
    if (slowest) {
      exchanges_.push_back(by_formula(analytic_all_reduce(platform, devices, bytes, flows[k], *slowest)));
    } else if (is_analytic) {
      exchanges_.push_back(by_formula(lowered_all_reduce_time(platform, rings, before, before + bytes)));
    } else if (const auto tabulated = tabulated_all_reduce(platform, devices.size(), bytes)) {
      exchanges_.push_back(by_formula(*tabulated));
    } else {
      exchanges_.push_back(over_links(rings, before, before + bytes));
    }
    before += bytes;
  }
}

Op RingAllReduce::op(OpKind kind) const {
  Op op;
  op.kind = kind;
  op.chunk = ring_.number;
  return op;
}

RingAllReduce::Exchange RingAllReduce::by_formula(Seconds seconds) const {
  Phase phase;
  const Platform& platform = state_.shape.platform();
  for (const std::vector<DeviceId>& ring : member_rings(state_.replicas(), ring_.members)) {
    for (std::size_t i = 0; i < ring.size(); ++i) {
      Op flow = op(OpKind::AllReduce);
      flow.from = platform.place(ring[i]);
      flow.to = platform.place(ring[(i + 1) % ring.size()]);
      flow.literal = true;
      flow.seconds = seconds;
      phase.flows.push_back(flow);
    }
  }
  return {std::move(phase)};
}

/// The all-reduce of the bucket that is [begin, end) of the gradients.
RingAllReduce::Exchange RingAllReduce::over_links(const MemberRings& rings, Bytes begin, Bytes end) const {
  const Platform& platform = state_.shape.platform();
  Exchange exchange;
  for (const AllReducePhase& planned : all_reduce(platform, rings, end - begin).phases) {
    Phase& phase = exchange.emplace_back();
    phase.latency = latency_before(platform, planned);
    const std::vector<Seconds> times = flow_times(platform, planned, begin, end);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const AllReduceFlow& part = planned.flows[i];
      Op flow = op(OpKind::AllReduce);
      flow.seconds = times[i];
      flow.from = platform.place(part.from);
      flow.to = platform.place(part.to);
      flow.bytes = flow_bytes(platform, part, begin, end);
      phase.flows.push_back(flow);
    }
  }
  return exchange;
}

OpId RingAllReduce::append(std::size_t bucket, const std::vector<OpId>& after, std::uint32_t first_microbatch) {
  const auto local = static_cast<std::uint32_t>(first_microbatch - state_.first());
  const StageId stage = state_.run_stage(state_.replicas()[ring_.members.front()].stage, local);
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
  for (const Phase& phase : exchanges_[bucket]) {
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
