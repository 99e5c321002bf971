#include "sim/base/error.hpp"
#include "sim/schedule/lowering.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::uint8_t kBackgroundClass = 1;  ///< gives way to boundary traffic

}  // namespace

void Lowering::send(const Worker& from, std::uint32_t microbatch, OpId result, bool gradient) {
  std::size_t last_boundary = boundaries_.size();
  for (const Target& target : gradient ? from.backward_targets : from.forward_targets) {
    if (options_.network == NetworkModel::Platform) {
      send_to(from, target, microbatch, result, gradient);
    } else if (target.boundary != last_boundary) {  // one operation for all targets over the boundary
      send_analytic(from, target, microbatch, result, gradient);
    }
    last_boundary = target.boundary;
  }
}

void Lowering::send_to(const Worker& from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient) {
  const auto replica = static_cast<std::size_t>(target.alternating > 1 ? microbatch % target.alternating : 0);
  const std::size_t receiver = target.first_worker + replica;
  const Worker& to = workers_[receiver];
  const std::int64_t index = board_index(to, microbatch);
  if (to.device == from.device) {
    arrive(receiver, index, result, gradient);
    return;
  }
  Op op;
  op.kind = gradient ? OpKind::Gradient : OpKind::Activation;
  op.stage = from.stage;
  op.microbatch = label(microbatch);
  op.from = from.place;
  op.to = to.place;
  op.bytes = target.bytes;
  if (passages_.empty() && !explicit_transfers_ && !rendezvous_) {  // it leaves as soon as its sender is done
    const OpId id = window_.append(op);
    window_.depend_on(result);
    arrive(receiver, index, id, gradient);
    return;
  }
  const auto pair = static_cast<std::uint32_t>(from.share.begin + to.share.begin);
  deliver({target.boundary, microbatch, gradient}, {op, {result}, {{receiver, index}}, pair});
}

/// The boundary as one channel: one operation once all replicas that have the microbatch are done, to all that need it.
void Lowering::send_analytic(const Worker& from, const Target& target, std::uint32_t microbatch, OpId result,
                             bool gradient) {
  Passage& passage = passages_[target.boundary];
  const TransferKey key{target.boundary, microbatch, gradient};
  std::vector<OpId>& results = passage.partial[key];
  results.push_back(result);
  const std::size_t senders = from.replicas > 1 ? 1 : plan_.stages[from.stage.value()].devices.size();
  if (results.size() < senders) return;
  Delivery delivery;
  delivery.dependencies = std::move(results);
  passage.partial.erase(key);
  const Boundary& boundary = boundaries_[target.boundary];
  const StageId to = gradient ? boundary.from : boundary.to;
  for (std::size_t r = 0; r < plan_.stages[to.value()].devices.size(); ++r) {
    const std::size_t receiver = first_worker_[to.value()] + r;
    const Worker& worker = workers_[receiver];
    if (worker.replicas > 1 && microbatch % worker.replicas != worker.replica) continue;
    delivery.receivers.emplace_back(receiver, board_index(worker, microbatch));
  }
  const Worker& first = workers_[delivery.receivers.front().first];
  if (senders == 1 && delivery.receivers.size() == 1 && first.device == from.device) {
    arrive(delivery.receivers.front().first, delivery.receivers.front().second, result, gradient);
    return;
  }
  delivery.op.kind = gradient ? OpKind::Gradient : OpKind::Activation;
  delivery.op.literal = true;
  delivery.op.stage = from.stage;
  delivery.op.microbatch = label(microbatch);
  delivery.op.from = from.place;
  delivery.op.to = first.place;
  delivery.op.bytes = boundary.bytes;
  delivery.op.seconds = passage.seconds;
  deliver(key, std::move(delivery));
}

/// A transfer that could be appended now: at once, when its turn on a strict channel comes, when both ends have posted
/// it, or when its receiver asks for it.
void Lowering::deliver(TransferKey key, Delivery delivery) {
  if (explicit_transfers_) {
    Posted& posted = posted_[key];
    posted.deliveries.push_back(std::move(delivery));
    return;
  }
  if (rendezvous_) {
    const auto [receiver, index] = delivery.receivers.front();
    arrive(receiver, index, delivery.dependencies.front(), key.gradient);
    offers_[{receiver, index, key.gradient}].push_back(std::move(delivery));
    return;
  }
  const std::size_t number = passages_.empty() ? kNone : passages_[key.boundary].channel[key.gradient ? 1 : 0];
  if (number == kNone) {
    append_delivery(delivery, key.gradient);
    return;
  }
  Channel& channel = channels_[number];
  if (!channel.lane.is_none()) delivery.op.lane = LaneId(channel.lane.value() + delivery.pair);
  const auto listed = channel.listed.find(key);
  if (listed != channel.listed.end()) {
    delivery.op.priority = listed->second.priority;
    delivery.op.not_before = listed->second.not_before;
    if (passages_[key.boundary].flows == 1) channel.listed.erase(listed);
  }
  if (!channel.has_turns()) {
    append_delivery(delivery, key.gradient);
    return;
  }
  channel.waiting[key].push_back(std::move(delivery));
  append_in_turn(channel);
}

/// A strict channel's transfers, as far as those whose turn it is are ready to be appended.
void Lowering::append_in_turn(Channel& channel) {
  for (; channel.cursor < channel.turns.size(); ++channel.cursor) {
    const TransferKey key = channel.turns[channel.cursor];
    const auto waiting = channel.waiting.find(key);
    if (waiting == channel.waiting.end() || waiting->second.size() < passages_[key.boundary].flows) return;
    for (const Delivery& delivery : waiting->second) append_delivery(delivery, key.gradient);
    channel.waiting.erase(waiting);
  }
}

void Lowering::append_delivery(const Delivery& delivery, bool gradient) {
  const OpId id = window_.append(delivery.op);
  for (OpId dependency : delivery.dependencies) window_.depend_on(dependency);
  for (const auto& [worker, index] : delivery.receivers) arrive(worker, index, id, gradient);
}

void Lowering::arrive(std::size_t worker, std::int64_t index, OpId op, bool gradient) {
  if (gradient) {
    workers_[worker].board.arrive_backward(index, op);
  } else {
    workers_[worker].board.arrive_forward(index, op);
  }
}

/// Rendezvous: the receiver has come to the action that needs the tensors, so their transfers start after what it ran
/// last.
void Lowering::meet_offers(DeviceState& device, Worker& worker, std::int64_t index, bool gradient) {
  if (offers_.empty()) return;
  const auto number = static_cast<std::size_t>(&worker - workers_.data());
  const auto found = offers_.find({number, index, gradient});
  if (found == offers_.end()) return;
  const std::span<OpId> inputs = gradient ? worker.board.backward_inputs(index) : worker.board.forward_inputs(index);
  for (const Delivery& delivery : found->second) {
    const OpId id = window_.append(delivery.op);
    for (OpId dependency : delivery.dependencies) window_.depend_on(dependency);
    if (!device.last.is_none()) window_.depend_on(device.last);
    *std::ranges::find(inputs, delivery.dependencies.front()) = id;
  }
  offers_.erase(found);
}

void Lowering::post(TransferKey key, bool is_send, OpId op) {
  const auto [entry, is_new] = posted_.try_emplace(key);
  Posted& posted = entry->second;
  (is_send ? posted.send : posted.receive) = op;
  if (posted.send.is_none() || posted.receive.is_none()) return;
  for (Delivery& delivery : posted.deliveries) {
    delivery.dependencies.push_back(posted.send);
    delivery.dependencies.push_back(posted.receive);
    append_delivery(delivery, key.gradient);
  }
  posted_.erase(entry);
}

/// The swapped layers' stash leaves the device after the forward and is then in host memory.
void Lowering::swap_out(Worker& worker, std::uint32_t microbatch, std::int64_t index) {
  const HostId host = platform_.devices[worker.device].host;
  STAGECRAFT_CHECK(!host.is_none(), "a device that swaps has a host");
  Op op;
  op.kind = OpKind::SwapOut;
  op.transfer_class = kBackgroundClass;
  op.stage = worker.stage;
  op.microbatch = label(microbatch);
  op.from = worker.place;
  op.to = platform_.place(host);
  op.bytes = worker.work.swapped;
  MicrobatchBoard::Entry& entry = worker.board.at(index);
  entry.swap_out = window_.append(op);
  window_.depend_on(entry.forward);
  window_.free(op.from, MemoryCategory::Stash, op.bytes);
  window_.take(op.to, MemoryCategory::Stash, op.bytes);
  DeviceState& device = devices_[worker.order];
  if (worker.prefetch < 0) {  // nothing has been fetched yet: the first backward's stash comes back as soon as it can
    for (std::size_t i = device.cursor; i < device.actions.size(); ++i) {
      const Action& action = device.actions[i];
      const bool backward = action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardInput;
      if (action.stage != worker.stage || !backward) continue;
      worker.prefetch = board_index(worker, action.microbatch);
      break;
    }
  }
  if (worker.prefetch == index) prefetch(worker, microbatch, index);
}

/// Once a backward begins, the stash of the stage's next one may be fetched: one is in use, one on its way.
void Lowering::allow_prefetch(DeviceState& device, Worker& worker, std::size_t action) {
  if (worker.work.swapped == Bytes(0)) return;
  const std::uint32_t present = device.actions[action].microbatch;
  prefetch(worker, present, board_index(worker, present));  // if it was not in sight before
  for (std::size_t i = action + 1; i < device.actions.size(); ++i) {
    const Action& next = device.actions[i];
    const bool backward = next.kind == ActionKind::Backward || next.kind == ActionKind::BackwardInput;
    if (next.stage != worker.stage || !backward) continue;
    worker.prefetch = board_index(worker, next.microbatch);
    worker.prefetch_after = device.last;
    if (!worker.board.at(worker.prefetch).swap_out.is_none()) prefetch(worker, next.microbatch, worker.prefetch);
    return;
  }
}

void Lowering::prefetch(Worker& worker, std::uint32_t microbatch, std::int64_t index) {
  MicrobatchBoard::Entry& entry = worker.board.at(index);
  if (entry.swap_out.is_none() || !entry.swap_in.is_none()) return;
  Op op;
  op.kind = OpKind::SwapIn;
  op.transfer_class = kBackgroundClass;
  op.stage = worker.stage;
  op.microbatch = label(microbatch);
  op.from = platform_.place(platform_.devices[worker.device].host);
  op.to = worker.place;
  op.bytes = worker.work.swapped;
  entry.swap_in = window_.append(op);
  window_.depend_on(entry.swap_out);
  if (!worker.prefetch_after.is_none()) window_.depend_on(worker.prefetch_after);
  window_.take(op.to, MemoryCategory::Stash, op.bytes);
  window_.free(op.from, MemoryCategory::Stash, op.bytes);
}

}  // namespace stagecraft
