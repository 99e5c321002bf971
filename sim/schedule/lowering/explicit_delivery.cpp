#include "sim/schedule/lowering/explicit_delivery.hpp"

#include "sim/schedule/fixed/device_order.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stagecraft {
namespace {

/// The action at the other end of the transfer.
Action other_end(const Boundary& boundary, const Action& action) {
  static constexpr std::array kOthers = {ActionKind::ReceiveActivation, ActionKind::SendActivation,
                                         ActionKind::ReceiveGradient, ActionKind::SendGradient};
  const std::size_t at = static_cast<std::size_t>(action.kind) - static_cast<std::size_t>(ActionKind::SendActivation);
  const StageId stage = boundary.from == action.stage ? boundary.to : boundary.from;
  return action_of(kOthers.at(at), stage.value(), action.microbatch);
}

}  // namespace

void ExplicitDelivery::post(LoweringState& state, const std::vector<PostedMark>& batch) {
  const std::size_t device = state.shape.device_index(batch.front().replica);
  Stream& stream = streams_[device];
  const std::size_t number = stream.first + stream.batches.size();
  Batch posted;
  for (const PostedMark& mark : batch) {
    for (const BoundaryEnd& end : ends_.of(mark.action)) {
      const TransferKey key{end.boundary, mark.action.microbatch, is_of_gradient(mark.action.kind)};
      Open& open = open_[key];
      (is_send(mark.action.kind) ? open.send : open.receive) = {device, number, mark.op};
      posted.left.emplace_back(key, mark.action);
    }
  }
  if (rule_ == Transfers::Explicit) {
    for (const auto& [key, action] : posted.left) {
      if (open_.at(key).has_both_ends()) append(state, key);
    }
    return;
  }
  if (posted.left.empty()) return;
  stream.batches.push_back(std::move(posted));
  std::vector<std::size_t> changed{device};  // streams that have another first batch
  while (!changed.empty()) {
    const std::size_t next = changed.back();
    changed.pop_back();
    append_in_turn(state, next, changed);
  }
}

void ExplicitDelivery::append(LoweringState& state, TransferKey key) {
  const auto node = open_.extract(key);
  const Open& open = node.mapped();
  std::vector<OpId> appended;
  for (PendingTransfer transfer : open.transfers) {
    for (const End* end : {&open.send, &open.receive}) {
      const std::vector<OpId>& before = streams_[end->device].last;
      transfer.dependencies.push_back(end->mark);
      transfer.dependencies.insert(transfer.dependencies.end(), before.begin(), before.end());
    }
    appended.push_back(append_transfer(state, transfer, key.gradient));
  }
  if (rule_ == Transfers::Explicit) return;
  for (const End* end : {&open.send, &open.receive}) note(state, end->device, key, appended);
}

/// Appends the transfers of the stream's first batch whose turn it is at their other ends too, and adds the streams
/// whose first batch that ends.
void ExplicitDelivery::append_in_turn(LoweringState& state, std::size_t device, std::vector<std::size_t>& changed) {
  if (streams_[device].batches.empty()) return;
  for (const auto& [key, action] : std::vector(streams_[device].batches.front().left)) {
    const auto found = open_.find(key);
    if (!found->second.has_both_ends()) continue;
    const std::array ends{found->second.send, found->second.receive};
    if (!std::ranges::all_of(ends, [&](const End& end) { return is_in_turn(end); })) continue;
    append(state, key);
    for (const End& end : ends) {
      if (!is_in_turn(end)) changed.push_back(end.device);
    }
  }
}

/// Transfers of the stream's first batch have been appended.
void ExplicitDelivery::note(LoweringState& state, std::size_t device, TransferKey key,
                            const std::vector<OpId>& transfers) {
  Stream& stream = streams_[device];
  Batch& batch = stream.batches.front();
  std::erase_if(batch.left, [&](const auto& left) { return left.first == key; });
  batch.transfers.insert(batch.transfers.end(), transfers.begin(), transfers.end());
  if (!batch.left.empty()) return;
  if (rule_ == Transfers::Blocking) {
    hold(state, device, batch.transfers);
  } else {
    stream.last = std::move(batch.transfers);
  }
  stream.batches.pop_front();
  ++stream.first;
}

/// The device's next action waits for the ends of the transfers.
void ExplicitDelivery::hold(LoweringState& state, std::size_t device, const std::vector<OpId>& transfers) const {
  OpId end = transfers.front();
  if (transfers.size() > 1) {
    end = state.writer.append(Op{});
    state.writer.depend_on(transfers);
  }
  state.lanes.hold(device, end);
}

std::optional<WaitingMark> ExplicitDelivery::waiting(const LoweringState& state, std::size_t device) const {
  const std::deque<Batch>& batches = streams_[device].batches;
  if (batches.empty()) return std::nullopt;
  const auto& [key, action] = batches.front().left.front();
  const Action other = other_end(state.shape.boundaries()[key.boundary], action);
  const ReplicaId runner = state.replicas().runners(other.stage, other.microbatch).front();
  return WaitingMark{action, other, state.shape.device_index(runner), open_.at(key).has_both_ends()};
}

OpId ExplicitDelivery::oldest() const {
  OpId oldest = OpId::none();
  const auto look_at = [&](const std::vector<OpId>& ops) {
    for (const OpId op : ops) oldest = std::min(oldest, op);
  };
  for (const auto& [key, open] : open_) {
    oldest = std::min({oldest, open.send.mark, open.receive.mark, oldest_of(open.transfers)});
  }
  for (const Stream& stream : streams_) {
    look_at(stream.last);
    for (const Batch& batch : stream.batches) look_at(batch.transfers);
  }
  return oldest;
}

}  // namespace stagecraft
