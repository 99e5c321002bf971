#include "sim/schedule/lowering/delivery.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/pipeline_times.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

DeliveryRule rule_of(LoweringState& state, const Schedule& first) {
  if (lists_transfers(first.transfers)) return ExplicitDelivery(state, first.transfers);
  if (first.transfers == Transfers::Rendezvous) return RendezvousDelivery{};
  if (state.shape.is_analytic() || !first.channels.empty()) return Channels(state, first.channels);
  return EagerDelivery{};
}

Op transfer_op(const LoweringState& state, ReplicaId from, ReplicaId to, std::uint32_t microbatch, bool gradient) {
  Op op;
  op.kind = gradient ? OpKind::Gradient : OpKind::Activation;
  op.stage = state.run_stage(state.replicas()[from].stage, microbatch);
  op.microbatch = state.number(microbatch);
  op.from = state.shape[from].place;
  op.to = state.shape[to].place;
  op.chunk = static_cast<std::uint16_t>(state.replicas()[to].chunk);
  return op;
}

}  // namespace

void RendezvousDelivery::deliver(LoweringState& state, TransferKey key, PendingTransfer transfer) {
  const auto [receiver, index] = transfer.receivers.front();
  state.arrive(receiver, index, transfer.dependencies.front(), key.gradient);
  held_[{receiver, index, key.gradient}].push_back(std::move(transfer));
}

void RendezvousDelivery::meet(LoweringState& state, ReplicaId receiver, std::int64_t index, bool gradient) {
  const auto found = held_.find({receiver, index, gradient});
  if (found == held_.end()) return;
  MicrobatchBoard& board = state.boards[receiver];
  const std::span<OpId> inputs = gradient ? board.backward_inputs(index) : board.forward_inputs(index);
  const OpId last = state.lanes.last(state.shape.device_index(receiver));
  for (const PendingTransfer& transfer : found->second) {
    std::vector<OpId> after = transfer.dependencies;
    if (!last.is_none()) after.push_back(last);
    const OpId id = append_legs(state, transfer.op, after);
    *std::ranges::find(inputs, transfer.dependencies.front()) = id;  // until now the result stood in for its transfer
  }
  held_.erase(found);
}

OpId RendezvousDelivery::oldest() const {
  OpId oldest = OpId::none();
  for (const auto& [key, transfers] : held_) oldest = std::min(oldest, oldest_of(transfers));
  return oldest;
}

Delivery::Delivery(LoweringState& state, const Schedule& first, const std::vector<Seconds>& channel_times)
    : state_(state), rule_(rule_of(state, first)), analytic_seconds_(channel_times) {
  STAGECRAFT_CHECK(channel_times.empty() || channel_times.size() == state.shape.boundaries().size(),
                   "a time for each boundary");
  if (!state.shape.is_analytic() || !channel_times.empty()) return;
  for (const Boundary& boundary : state.shape.boundaries()) {
    analytic_seconds_.push_back(channel_time(state.shape.platform(), state.shape.plan(), boundary));
  }
}

void Delivery::send(ReplicaId from, std::uint32_t microbatch, OpId result, bool gradient) {
  std::size_t last_boundary = state_.shape.boundaries().size();
  for (const Target& target : state_.worker(from, microbatch, gradient).targets(gradient)) {
    if (!state_.shape.is_analytic()) {
      send_to(from, target, microbatch, result, gradient);
    } else if (target.boundary != last_boundary) {  // targets over one boundary are adjacent and share one operation
      send_analytic(from, target, microbatch, result, gradient);
    }
    last_boundary = target.boundary;
  }
}

void Delivery::send_to(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result, bool gradient) {
  const Replicas& replicas = state_.replicas();
  const ReplicaId receiver =
      target.replica.is_none() ? replicas.runners(target.stage, microbatch).front() : target.replica;
  const std::int64_t index = state_.index(receiver, microbatch);
  const bool stays = replicas[receiver].device == replicas[from].device;
  const Platform& platform = state_.shape.platform();
  Op op = transfer_op(state_, from, receiver, microbatch, gradient);
  op.bytes = target.bytes;
  const auto pair = static_cast<std::uint32_t>(replicas[from].share.begin + replicas[receiver].share.begin);
  for (std::size_t i = 0; i < replicas.group_size(); ++i) {
    op.from = platform.place(replicas.members(from)[i]);
    op.to = platform.place(replicas.members(receiver)[i]);
    if (stays) {
      state_.arrive(receiver, index, result, gradient);
    } else if (std::holds_alternative<EagerDelivery>(rule_)) {
      state_.arrive(receiver, index, append_legs(state_, op, std::span(&result, 1)), gradient);
    } else {
      const auto lane = static_cast<std::uint32_t>(pair * replicas.group_size() + i);
      deliver({target.boundary, microbatch, gradient}, {op, {result}, {{receiver, index}}, lane});
    }
  }
}

/// The boundary is one channel: when all replicas that run the microbatch are done, one operation carries their results
/// to all replicas that need them.
void Delivery::send_analytic(ReplicaId from, const Target& target, std::uint32_t microbatch, OpId result,
                             bool gradient) {
  const Replicas& replicas = state_.replicas();
  const TransferKey key{target.boundary, microbatch, gradient};
  std::vector<OpId>& results = partial_[key];
  results.push_back(result);
  const std::size_t senders = replicas.runners(replicas[from].stage, microbatch).size();
  if (results.size() < senders) return;
  PendingTransfer transfer;
  transfer.dependencies = std::move(results);
  partial_.erase(key);
  for (ReplicaId receiver : replicas.runners(target.stage, microbatch)) {
    transfer.receivers.emplace_back(receiver, state_.index(receiver, microbatch));
  }
  const auto [first, index] = transfer.receivers.front();
  const bool stays = senders == 1 && transfer.receivers.size() == 1 && replicas[first].device == replicas[from].device;
  if (stays) {
    state_.arrive(first, index, result, gradient);
    return;
  }
  transfer.op = transfer_op(state_, from, first, microbatch, gradient);
  transfer.op.literal = true;
  transfer.op.bytes = state_.shape.boundaries()[target.boundary].bytes;
  transfer.op.seconds = analytic_seconds_[target.boundary];
  deliver(key, std::move(transfer));
}

void Delivery::deliver(TransferKey key, PendingTransfer transfer) {
  if (auto* channels = std::get_if<Channels>(&rule_)) {
    channels->deliver(state_, key, std::move(transfer));
  } else if (auto* posted = std::get_if<ExplicitDelivery>(&rule_)) {
    posted->deliver(key, std::move(transfer));
  } else if (auto* rendezvous = std::get_if<RendezvousDelivery>(&rule_)) {
    rendezvous->deliver(state_, key, std::move(transfer));
  }
}

void Delivery::take(const std::vector<ChannelOrder>& orders) {
  if (auto* channels = std::get_if<Channels>(&rule_)) channels->take(state_, orders);
}

void Delivery::stop_at(std::int64_t end) {
  if (auto* channels = std::get_if<Channels>(&rule_)) channels->stop_at(end);
}

bool Delivery::has_ready_channels() const {
  const auto* channels = std::get_if<Channels>(&rule_);
  return channels != nullptr && channels->any_ready();
}

bool Delivery::takes_legs() const {
  return !state_.shape.is_analytic() && state_.shape.platform().spec.transport == Transport::Host;
}

OpId Delivery::oldest() const {
  OpId oldest = OpId::none();
  for (const auto& [key, results] : partial_) {
    for (OpId op : results) oldest = std::min(oldest, op);
  }
  return std::min(oldest, std::visit([](const auto& rule) { return rule.oldest(); }, rule_));
}

}  // namespace stagecraft
