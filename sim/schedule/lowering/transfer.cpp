#include "sim/schedule/lowering/transfer.hpp"

#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {
namespace {

constexpr std::int32_t kBeforeOthers = std::numeric_limits<std::int32_t>::min();

/// Lets the last operation, a leg of the transfer, take the tensor's place in the host memory to which it brings the
/// tensor, and free that from which it takes it.
void occupy_hosts(LoweringState& state, const Op& op) {
  const Platform& platform = state.shape.platform();
  const auto [source, target] = ends_of(platform, op.from, op.to, op.leg);
  if (!platform.is_device(source)) state.writer.free(source, MemoryCategory::Buffers, op.bytes);
  if (!platform.is_device(target)) state.writer.take(target, MemoryCategory::Buffers, op.bytes);
}

/// Tensors that one device sends another go one after the other, leg by leg, unless they have a channel.
OpId append_leg(LoweringState& state, Op op) {
  if (op.lane.is_none() && !op.literal) op.lane = state.writer.connection_of(op, state.connections);
  return state.writer.append(op);
}

}  // namespace

OpId append_legs(LoweringState& state, const Op& transfer, std::span<const OpId> dependencies, bool keeps_lane) {
  const Platform& platform = state.shape.platform();
  if (transfer.literal || platform.spec.transport == Transport::Direct) {
    const OpId id = append_leg(state, transfer);
    state.writer.depend_on(dependencies);
    return id;
  }
  OpId last;
  Op op = transfer;
  for (Leg leg : boundary_legs(platform, platform.device(transfer.from), platform.device(transfer.to))) {
    op.leg = leg;
    const OpId id = append_leg(state, op);
    if (last.is_none()) {
      state.writer.depend_on(dependencies);
    } else {
      state.writer.depend_on(last);
    }
    occupy_hosts(state, op);
    last = id;
    op.not_before = Seconds(0);
    if (keeps_lane) op.priority = kBeforeOthers;
  }
  return last;
}

OpId append_transfer(LoweringState& state, const PendingTransfer& transfer, bool gradient) {
  const OpId id = append_legs(state, transfer.op, transfer.dependencies, transfer.keeps_lane);
  for (const auto& [receiver, index] : transfer.receivers) state.arrive(receiver, index, id, gradient);
  return id;
}

OpId oldest_of(const std::vector<PendingTransfer>& transfers) {
  OpId oldest = OpId::none();
  for (const PendingTransfer& transfer : transfers) {
    for (OpId op : transfer.dependencies) oldest = std::min(oldest, op);
  }
  return oldest;
}

}  // namespace stagecraft
