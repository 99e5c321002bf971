#include "sim/schedule/lowering/ring_all_reduce.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace stagecraft {

RingAllReduce::RingAllReduce(LoweringState& state, AllReduceRing ring) : state_(state), ring_(std::move(ring)) {
  if (ring_.members.size() == 1) return;
  flow_bytes_ = ring_bytes(ring_.buckets, static_cast<std::int64_t>(ring_.members.size()));
  if (!state.shape.is_analytic()) {
    latency_ = largest_latency();
    return;
  }
  std::set<DeviceId> devices;
  for (ReplicaId member : ring_.members) devices.insert(state.replicas()[member].device);
  analytic_ = smallest_bandwidth_among(state.shape.platform(), {devices.begin(), devices.end()});
}

Seconds RingAllReduce::largest_latency() const {
  Seconds latency;
  Route route;
  for (std::size_t i = 0; i < ring_.members.size(); ++i) {
    const PlaceId from = state_.shape[ring_.members[i]].place;
    const PlaceId to = state_.shape[ring_.members[(i + 1) % ring_.members.size()]].place;
    if (from == to) continue;
    STAGECRAFT_CHECK(find_route(state_.shape.platform(), from, to, route), "replicas of a sound plan are connected");
    latency = std::max(latency, route.latency);
  }
  return latency;
}

Op RingAllReduce::op(OpKind kind, std::uint32_t first_microbatch) const {
  Op op;
  op.kind = kind;
  op.stage = state_.run_stage(state_.replicas()[ring_.members.front()].stage);
  op.chunk = ring_.number;
  op.microbatch = first_microbatch;
  return op;
}

OpId RingAllReduce::append(std::size_t bucket, const std::vector<OpId>& after, std::uint32_t first_microbatch) {
  const std::size_t count = ring_.members.size();
  const auto n = static_cast<std::int64_t>(count);
  Op mark = op(OpKind::CollectiveBegin, first_microbatch);
  mark.seconds = latency_ * static_cast<double>(2 * (n - 1) - 1);
  const OpId begin = state_.writer.append(mark);
  state_.writer.depend_on(after);
  Op flow = op(OpKind::AllReduce, first_microbatch);
  flow.bytes = flow_bytes_[bucket];
  flow.literal = state_.shape.is_analytic();
  if (analytic_) flow.seconds = flow.bytes / *analytic_;
  std::vector<OpId> flows;
  for (std::size_t i = 0; i < count; ++i) {
    flow.from = state_.shape[ring_.members[i]].place;
    flow.to = state_.shape[ring_.members[(i + 1) % count]].place;
    flows.push_back(state_.writer.append(flow));
    state_.writer.depend_on(begin);
  }
  const OpId end = state_.writer.append(op(OpKind::CollectiveEnd, first_microbatch));
  state_.writer.depend_on(flows);
  return end;
}

}  // namespace stagecraft
