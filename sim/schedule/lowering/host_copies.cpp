#include "sim/schedule/lowering/host_copies.hpp"

#include "sim/base/error.hpp"

namespace stagecraft {
namespace {

constexpr std::uint8_t kBackgroundClass = 1;  ///< suspended while boundary traffic uses a link of the route

PlaceId host_of(const LoweringState& state, ReplicaId replica) {
  const Platform& platform = state.shape.platform();
  const HostId host = platform.devices[state.replicas()[replica].device].host;
  STAGECRAFT_CHECK(!host.is_none(), "a device that swaps has a host");
  return platform.place(host);
}

}  // namespace

HostCopies::HostCopies(LoweringState& state) : state_(state), engines_(state.lanes.size()) {}

void HostCopies::open(ReplicaId replica) {
  Engines& engines = engines_[state_.shape.device_index(replica)];
  if (!engines.out.is_none()) return;
  engines.out = state_.writer.open_lanes(1, Discipline::Strict);
  engines.in = state_.writer.open_lanes(1, Discipline::Strict);
}

OpId HostCopies::append(ReplicaId replica, const HostCopy& copy) {
  const bool is_out = copy.kind == OpKind::SwapOut;
  const PlaceId device = state_.shape[replica].place;
  const PlaceId host = host_of(state_, replica);
  const Engines& engines = engines_[state_.shape.device_index(replica)];
  Op op;
  op.kind = copy.kind;
  op.transfer_class = kBackgroundClass;
  op.lane = is_out ? engines.out : engines.in;
  op.stage = state_.run_stage(state_.replicas()[replica].stage, copy.microbatch);
  op.microbatch = state_.number(copy.microbatch);
  op.from = is_out ? device : host;
  op.to = is_out ? host : device;
  op.bytes = copy.bytes;
  const OpId id = state_.writer.append(op);
  if (!copy.keeps_source) state_.writer.free(op.from, copy.category, copy.bytes);
  state_.writer.take(op.to, copy.category, copy.bytes);
  return id;
}

}  // namespace stagecraft
