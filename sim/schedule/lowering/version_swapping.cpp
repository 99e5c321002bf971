#include "sim/schedule/lowering/version_swapping.hpp"

#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>

namespace stagecraft {

VersionSwapping::VersionSwapping(LoweringState& state, const Orders& orders, HostCopies& copies,
                                 const std::vector<std::int64_t>& versions)
    : state_(state), orders_(orders), copies_(copies), workers_(state.replicas().size()) {
  for (ReplicaId id : state.replicas().all()) {
    const std::size_t stage = state.replicas()[id].stage.value();
    Worker& worker = workers_[id];
    worker.bytes = state.shape[id].parameters;
    worker.moves = worker.bytes > Bytes(0) && moves_versions(state.shape.plan().stages[stage], versions[stage]);
    if (!worker.moves) continue;
    copies_.open(id);
    is_active_ = true;
  }
}

void VersionSwapping::note_forward(ReplicaId replica, std::uint32_t microbatch) {
  Worker& worker = workers_[replica];
  if (worker.moves) worker.in_flight[microbatch] = {worker.newest, OpId::none()};
}

/// The device takes memory for one more version when the weights change, until the old one is on the host.
void VersionSwapping::update(ReplicaId replica, std::span<const OpId> after) {
  Worker& worker = workers_[replica];
  if (!worker.moves) return;
  STAGECRAFT_CHECK(!state_.is_on_ready_lane(replica), "asynchronous orders are strict");
  ++worker.newest;
  const std::int64_t old = worker.newest - kVersionsOnDevice;
  const auto user = std::ranges::find_if(worker.in_flight, [&](const auto& use) { return use.second.version == old; });
  if (user == worker.in_flight.end()) return;
  Op change;
  change.kind = OpKind::Setup;
  change.from = change.to = state_.shape[replica].place;
  const OpId changed = state_.writer.append(change);
  state_.writer.depend_on(after);
  state_.writer.take(change.from, MemoryCategory::Weights, worker.bytes);
  worker.on_host[old] =
      copies_.append(replica, {OpKind::SwapOut, user->first, worker.bytes, MemoryCategory::Weights, false}, {changed});
}

void VersionSwapping::fetch(ReplicaId replica, std::uint32_t microbatch, OpId after) {
  Worker& worker = workers_[replica];
  const auto user = worker.in_flight.find(microbatch);
  if (user == worker.in_flight.end() || !user->second.copy_back.is_none()) return;
  const auto held = worker.on_host.find(user->second.version);
  if (held == worker.on_host.end()) return;  // it is one of the newest
  const auto waits = std::ranges::count_if(worker.in_flight, [&](const auto& use) {
    return use.second.version == held->first && use.second.copy_back.is_none();
  });
  std::vector<OpId> awaited = {held->second};
  if (!after.is_none()) awaited.push_back(after);
  user->second.copy_back =
      copies_.append(replica, {OpKind::SwapIn, microbatch, worker.bytes, MemoryCategory::Weights, waits > 1}, awaited);
  if (waits == 1) worker.on_host.erase(held);
}

void VersionSwapping::before_backward(ReplicaId replica, std::uint32_t microbatch) {
  if (workers_[replica].moves) fetch(replica, microbatch, state_.lanes.last(state_.shape.device_index(replica)));
}

void VersionSwapping::depend_on_version(ReplicaId replica, std::uint32_t microbatch) {
  const auto user = workers_[replica].in_flight.find(microbatch);
  if (user == workers_[replica].in_flight.end() || user->second.copy_back.is_none()) return;
  state_.writer.depend_on(user->second.copy_back);
}

void VersionSwapping::release(ReplicaId replica, std::uint32_t microbatch) {
  Worker& worker = workers_[replica];
  const auto user = worker.in_flight.find(microbatch);
  if (user == worker.in_flight.end()) return;
  const PlaceId place = state_.shape[replica].place;
  if (!user->second.copy_back.is_none()) state_.writer.free(place, MemoryCategory::Weights, worker.bytes);
  worker.in_flight.erase(user);
}

void VersionSwapping::prefetch(ReplicaId replica, std::size_t position, OpId end) {
  if (!workers_[replica].moves) return;
  const std::size_t device = state_.shape.device_index(replica);
  const std::size_t next = orders_.next_backward(device, position, state_.replicas()[replica].stage);
  if (next < orders_.actions(device).size()) fetch(replica, orders_.actions(device)[next].microbatch, end);
}

OpId VersionSwapping::oldest() const {
  OpId oldest = OpId::none();
  for (const Worker& worker : workers_) {
    for (const auto& [microbatch, use] : worker.in_flight) oldest = std::min(oldest, use.copy_back);
    for (const auto& [version, copy] : worker.on_host) oldest = std::min(oldest, copy);
  }
  return oldest;
}

}  // namespace stagecraft
