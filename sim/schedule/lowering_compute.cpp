#include "sim/base/error.hpp"
#include "sim/schedule/lowering.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft {
namespace {

constexpr std::int32_t kBeforeAll = std::numeric_limits<std::int32_t>::min();

}  // namespace

std::size_t Lowering::worker_on(const DeviceState& device, StageId stage) const {
  const auto found =
      std::ranges::find(device.workers, stage, [&](std::size_t worker) { return workers_[worker].stage; });
  STAGECRAFT_CHECK(found != device.workers.end(), "orders give a device work of its own stages");
  return *found;
}

std::int64_t Lowering::local(const Worker& worker, std::uint32_t microbatch) const {
  return worker.replicas == 1 ? microbatch : microbatch / worker.replicas;
}

std::int64_t Lowering::board_index(const Worker& worker, std::uint32_t microbatch) const {
  return iteration_ * worker.count + local(worker, microbatch);
}

std::uint32_t Lowering::label(std::uint32_t microbatch) const {
  return static_cast<std::uint32_t>(iteration_ * plan_.microbatches) + microbatch;
}

Op Lowering::computation(const Worker& worker, OpKind kind, std::uint32_t microbatch) const {
  Op op;
  op.kind = kind;
  op.lane = devices_[worker.order].lane;
  op.stage = worker.stage;
  op.chunk = worker.chunk;
  op.microbatch = label(microbatch);
  op.from = op.to = worker.place;
  return op;
}

/// Appends an operation on the device's lane; after a flush it waits for the barrier.
OpId Lowering::append_on(DeviceState& device, Op op, const Action& action) {
  op.priority = action.priority;
  op.not_before = action.not_before;
  const OpId id = window_.append(op);
  if (!device.barrier.is_none()) {
    window_.depend_on(device.barrier);
    if (device.discipline == Discipline::Strict) device.barrier = OpId::none();
  }
  device.last = id;
  return id;
}

bool Lowering::can_forward(Worker& worker, std::int64_t index) const { return worker.board.has_forward_inputs(index); }

bool Lowering::can_backward(Worker& worker, std::int64_t index) const {
  if (worker.board.at(index).forward.is_none() || !worker.board.has_backward_inputs(index)) return false;
  // Asynchronous replicas: the round before has to be summed up before the next gradient comes on top.
  const bool has_rounds = !schedule_.synchronous && groups_[group_of_[worker.stage.value()]].workers.size() > 1;
  return !has_rounds || worker.synchronised_rounds >= index;
}

bool Lowering::emit(DeviceState& device, std::size_t position) {
  const Action& action = device.actions[position];
  Worker& worker = workers_[worker_on(device, action.stage)];
  if (position + 1 < device.actions.size() && device.actions[position + 1].joined) {
    return emit_pair(device, action, device.actions[position + 1]);
  }
  switch (action.kind) {
    case ActionKind::Forward: return emit_forward(device, worker, action);
    case ActionKind::Backward:
    case ActionKind::BackwardInput:
      if (!can_backward(worker, board_index(worker, action.microbatch))) return false;
      allow_prefetch(device, worker, position);
      return emit_backward(device, worker, action);
    case ActionKind::BackwardWeight: return emit_backward_weight(device, worker, action);
    case ActionKind::SendActivation:
    case ActionKind::ReceiveActivation:
    case ActionKind::SendGradient:
    case ActionKind::ReceiveGradient: return emit_post(device, worker, action);
  }
  return false;
}

bool Lowering::emit_forward(DeviceState& device, Worker& worker, const Action& action) {
  const std::int64_t index = board_index(worker, action.microbatch);
  if (!can_forward(worker, index)) return false;
  OpId after;
  if (action.after != kNoMicrobatch) {
    const auto awaited = worker.awaited.find(board_index(worker, action.after));
    STAGECRAFT_CHECK(awaited != worker.awaited.end(), "no two forwards wait for one backward");
    after = awaited->second;
    if (after.is_none()) return false;
    worker.awaited.erase(awaited);
  }
  meet_offers(device, worker, index, false);
  Op op = computation(worker, OpKind::Forward, action.microbatch);
  op.seconds = action.duration >= Seconds(0) ? action.duration : worker.work.forward;
  const OpId id = append_on(device, op, action);
  for (OpId input : worker.board.forward_inputs(index)) window_.depend_on(input);
  if (!after.is_none()) window_.depend_on(after);
  take_forward_memory(worker);
  window_.take(worker.place, MemoryCategory::Workspace, worker.work.workspace);
  window_.free(worker.place, MemoryCategory::Workspace, worker.work.workspace);
  finish_forward(worker, action.microbatch, index, id);
  return true;
}

void Lowering::take_forward_memory(const Worker& worker) {
  window_.take(worker.place, MemoryCategory::Stash, worker.work.stash + worker.work.swapped);
}

void Lowering::finish_forward(Worker& worker, std::uint32_t microbatch, std::int64_t index, OpId op) {
  worker.board.at(index).forward = op;
  send(worker, microbatch, op, false);
  if (worker.work.swapped > Bytes(0)) swap_out(worker, microbatch, index);
}

/// Seconds of a piece's backward, both halves or the input-gradient half; a duration given literally is spread over the
/// pieces in proportion.
Seconds Lowering::piece_seconds(const Worker& worker, const BackwardPiece& piece, const Action& action) {
  const auto nominal = [&](const BackwardPiece& of) {
    return action.kind == ActionKind::Backward ? of.backward : of.backward - of.backward_weight;
  };
  if (action.duration < Seconds(0)) return nominal(piece);
  Seconds sum;
  for (const BackwardPiece& other : worker.work.backward) sum += nominal(other);
  if (sum <= Seconds(0)) return action.duration / static_cast<double>(worker.work.backward.size());
  return action.duration * (nominal(piece) / sum);
}

/// What the first operation of a backward waits for.
void Lowering::depend_on_backward_inputs(const DeviceState& device, Worker& worker, std::int64_t index) {
  if (device.discipline == Discipline::Ready) window_.depend_on(worker.board.at(index).forward);
  if (!schedule_.synchronous) {
    for (OpId flow : worker.synchronised) window_.depend_on(flow);
  }
  for (OpId input : worker.board.backward_inputs(index)) window_.depend_on(input);
  const OpId swap_in = worker.board.at(index).swap_in;
  if (!swap_in.is_none()) window_.depend_on(swap_in);
}

/// The backward, piece by piece from the last layer to the first, each recomputed before if the plan says so; the last
/// piece is left open for the caller to add to.
OpId Lowering::append_pieces(DeviceState& device, Worker& worker, const Action& action, std::int64_t index) {
  const bool whole = action.kind == ActionKind::Backward;
  const OpId begin = device.last;
  OpId id = begin;
  const auto append = [&](const Op& op, Bytes workspace) {
    const OpId before = id;
    id = append_on(device, op, action);
    if (before == begin) {
      depend_on_backward_inputs(device, worker, index);
    } else if (device.discipline == Discipline::Ready) {
      window_.depend_on(before);
      window_.ops.back().priority = kBeforeAll;  // a backward is not interrupted
    }
    window_.take(worker.place, MemoryCategory::Workspace, workspace);
    window_.free(worker.place, MemoryCategory::Workspace, workspace);
  };
  for (const BackwardPiece& piece : worker.work.backward) {
    if (piece.recomputes) {
      Op recompute = computation(worker, OpKind::Recompute, action.microbatch);
      recompute.seconds = piece.recompute;
      append(recompute, piece.workspace);
      window_.take(worker.place, MemoryCategory::Workspace, piece.rematerialised);
    }
    Op backward = computation(worker, whole ? OpKind::Backward : OpKind::BackwardInput, action.microbatch);
    backward.seconds = piece_seconds(worker, piece, action);
    backward.closes = whole && &piece == &worker.work.backward.back();
    append(backward, piece.workspace);
    if (whole) window_.free(worker.place, MemoryCategory::Workspace, piece.rematerialised);
  }
  return id;
}

/// What a split backward frees already at its input-gradient half.
Bytes Lowering::early_stash(const Worker& worker) const {
  return scale_up(worker.work.stash + worker.work.swapped, plan_.training.input_gradient_release);
}

bool Lowering::emit_backward(DeviceState& device, Worker& worker, const Action& action) {
  const std::int64_t index = board_index(worker, action.microbatch);
  meet_offers(device, worker, index, true);
  const bool has_round_before = !schedule_.synchronous && !worker.synchronised.empty();
  if (has_round_before && worker.update > Seconds(0)) append_update(device, worker, worker.synchronised);
  const OpId id = append_pieces(device, worker, action, index);
  if (action.kind == ActionKind::BackwardInput) {
    window_.free(worker.place, MemoryCategory::Stash, early_stash(worker));
    worker.board.at(index).input = id;
    send(worker, action.microbatch, id, true);
    return true;
  }
  window_.free(worker.place, MemoryCategory::Stash, worker.work.stash + worker.work.swapped);
  finish_backward(device, worker, action.microbatch, index, id);
  return true;
}

void Lowering::finish_backward(DeviceState& device, Worker& worker, std::uint32_t microbatch, std::int64_t index,
                               OpId op) {
  const bool split = !worker.board.at(index).input.is_none();
  if (!split) send(worker, microbatch, op, true);
  worker.board.finish(index);
  if (const auto awaited = worker.awaited.find(index); awaited != worker.awaited.end()) awaited->second = op;
  const auto number = static_cast<std::size_t>(&worker - workers_.data());
  note_backward(device, number, microbatch, op);
}

bool Lowering::emit_backward_weight(DeviceState& device, Worker& worker, const Action& action) {
  const std::int64_t index = board_index(worker, action.microbatch);
  const OpId input = worker.board.at(index).input;
  if (input.is_none()) return false;
  Op op = computation(worker, OpKind::BackwardWeight, action.microbatch);
  Bytes rematerialised;
  Bytes workspace;
  for (const BackwardPiece& piece : worker.work.backward) {
    op.seconds += piece.backward_weight;
    rematerialised += piece.rematerialised;
    workspace = std::max(workspace, piece.workspace);
  }
  if (action.duration >= Seconds(0)) op.seconds = action.duration;
  op.closes = true;
  const OpId id = append_on(device, op, action);
  window_.depend_on(input);
  window_.take(worker.place, MemoryCategory::Workspace, workspace);
  window_.free(worker.place, MemoryCategory::Workspace, workspace);
  window_.free(worker.place, MemoryCategory::Workspace, rematerialised);
  window_.free(worker.place, MemoryCategory::Stash, worker.work.stash + worker.work.swapped - early_stash(worker));
  finish_backward(device, worker, action.microbatch, index, id);
  return true;
}

/// A forward and a backward as one operation: both inputs are needed, both results leave at its end.
bool Lowering::emit_pair(DeviceState& device, const Action& first, const Action& second) {
  const bool first_is_forward = first.kind == ActionKind::Forward;
  const Action& forward = first_is_forward ? first : second;
  const Action& backward = first_is_forward ? second : first;
  STAGECRAFT_CHECK(forward.kind == ActionKind::Forward && backward.kind == ActionKind::Backward,
                   "a joined pair of actions is a forward and a backward");
  Worker& forth = workers_[worker_on(device, forward.stage)];
  Worker& back = workers_[worker_on(device, backward.stage)];
  const std::int64_t forth_index = board_index(forth, forward.microbatch);
  const std::int64_t back_index = board_index(back, backward.microbatch);
  if (!can_forward(forth, forth_index) || !can_backward(back, back_index)) return false;
  meet_offers(device, forth, forth_index, false);
  meet_offers(device, back, back_index, true);
  prefetch(back, backward.microbatch, back_index);
  Op op = computation(forth, OpKind::ForwardBackward, forward.microbatch);
  op.seconds = first.duration >= Seconds(0) ? first.duration : forth.work.forward + back.work.backward_total();
  op.closes = true;
  const OpId id = append_on(device, op, first);
  for (OpId input : forth.board.forward_inputs(forth_index)) window_.depend_on(input);
  window_.depend_on(back.board.at(back_index).forward);
  for (OpId input : back.board.backward_inputs(back_index)) window_.depend_on(input);
  if (!back.board.at(back_index).swap_in.is_none()) window_.depend_on(back.board.at(back_index).swap_in);
  take_forward_memory(forth);
  Bytes workspace = forth.work.workspace;  // both run at once
  for (const BackwardPiece& piece : back.work.backward) workspace += piece.rematerialised;
  window_.take(forth.place, MemoryCategory::Workspace, workspace);
  window_.free(forth.place, MemoryCategory::Workspace, workspace);
  window_.free(back.place, MemoryCategory::Stash, back.work.stash + back.work.swapped);
  finish_forward(forth, forward.microbatch, forth_index, id);
  finish_backward(device, back, backward.microbatch, back_index, id);
  return true;
}

/// A send or a receive in a device's order: a mark that takes no time. The transfer waits for both.
bool Lowering::emit_post(DeviceState& device, Worker& worker, const Action& action) {
  const bool gradient = action.kind == ActionKind::SendGradient || action.kind == ActionKind::ReceiveGradient;
  const bool is_send = action.kind == ActionKind::SendActivation || action.kind == ActionKind::SendGradient;
  const std::int64_t index = board_index(worker, action.microbatch);
  if (is_send && !worker.board.is_finished(index)) {
    const MicrobatchBoard::Entry& entry = worker.board.at(index);
    if ((gradient ? entry.input : entry.forward).is_none()) return false;  // there is nothing to send yet
  }
  const OpId id = append_on(device, computation(worker, OpKind::Post, action.microbatch), action);
  for (std::size_t b = 0; b < boundaries_.size(); ++b) {
    const StageId local_end = is_send != gradient ? boundaries_[b].from : boundaries_[b].to;
    if (local_end == worker.stage) post({b, action.microbatch, gradient}, is_send, id);
  }
  return true;
}

}  // namespace stagecraft
