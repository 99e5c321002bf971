#include "sim/schedule/lowering/host_copies.hpp"

#include "sim/base/error.hpp"

namespace stagecraft {
namespace {

constexpr std::uint8_t kBackgroundClass = 1;  ///< suspended while boundary traffic uses a link of the route

PlaceId host_of(const LoweringState& state, DeviceId device) {
  const Platform& platform = state.shape.platform();
  const HostId host = platform.devices[device].host;
  STAGECRAFT_CHECK(!host.is_none(), "a device that swaps has a host");
  return platform.place(host);
}

}  // namespace

HostCopies::HostCopies(LoweringState& state) : state_(state), engines_(state.lanes.size()) {}

void HostCopies::open(ReplicaId replica) {
  Engines& engines = engines_[state_.shape.device_index(replica)];
  if (!engines.out.is_none()) return;
  engines.out = state_.writer.open_lanes(state_.replicas().group_size(), Discipline::Strict);
  engines.in = state_.writer.open_lanes(state_.replicas().group_size(), Discipline::Strict);
}

OpId HostCopies::append(ReplicaId replica, const HostCopy& copy, const std::vector<OpId>& after) {
  if (state_.replicas().group_size() == 1) return append_one(replica, copy, after, 0);
  std::vector<OpId> copies;
  for (std::size_t i = 0; i < state_.replicas().group_size(); ++i) {
    copies.push_back(append_one(replica, copy, after, i));
  }
  const OpId all = state_.writer.append(Op{});
  state_.writer.depend_on(copies);
  return all;
}

OpId HostCopies::append_one(ReplicaId replica, const HostCopy& copy, const std::vector<OpId>& after,
                            std::size_t member) {
  const bool is_out = copy.kind == OpKind::SwapOut;
  const DeviceId on = state_.replicas().members(replica)[member];
  const PlaceId device = state_.shape.platform().place(on);
  const PlaceId host = host_of(state_, on);
  const Engines& engines = engines_[state_.shape.device_index(replica)];
  Op op;
  op.kind = copy.kind;
  op.transfer_class = kBackgroundClass;
  op.lane = LaneId((is_out ? engines.out : engines.in).value() + member);
  op.stage = state_.run_stage(state_.replicas()[replica].stage, copy.microbatch);
  op.microbatch = state_.number(copy.microbatch);
  op.from = is_out ? device : host;
  op.to = is_out ? host : device;
  op.bytes = copy.bytes;
  const OpId id = state_.writer.append(op);
  state_.writer.depend_on(after);
  if (!copy.keeps_source) state_.writer.change_alone({op.from, copy.category, true, -copy.bytes});
  state_.writer.change_alone({op.to, copy.category, false, copy.bytes});
  return id;
}

}  // namespace stagecraft
