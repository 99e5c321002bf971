#include "sim/schedule/lowering/compute.hpp"

#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// What a group exchanges in the forward of one program and the backward of another one.
std::vector<Exchange> exchanges_of_pair(const StageProgram& forth, const StageProgram& back) {
  std::vector<Exchange> all = forth.exchanges->forward;
  for (const StepExchanges& step : back.exchanges->steps) {
    for (const Exchange& exchange : step.recompute) add_exchange(all, exchange);
    for (const Exchange& exchange : step.backward) add_exchange(all, exchange);
  }
  return all;
}

/// Whether the result that the send carries has been appended; true of a receive.
bool has_sent_result(const PassTask& task) {
  if (!is_send(task.action.kind) || task.board.is_finished(task.index)) return true;
  const MicrobatchBoard::Entry& entry = task.board.at(task.index);
  return !(is_of_gradient(task.action.kind) ? entry.input : entry.forward).is_none();
}

}  // namespace

Compute::Compute(const LoweringParts& parts)
    : state_(parts.state),
      parts_(parts),
      passes_(parts),
      joint_(parts.state, parts.divided, passes_),
      awaited_(parts.state.replicas().size()) {}

void Compute::take(const Schedule& schedule) {
  for (const DeviceOrder& order : schedule.devices) {
    for (const Action& action : order.actions) {
      if (action.after == kNoMicrobatch) continue;
      const ReplicaId replica = state_.shape.replica_on(state_.shape.device_index(order.device), action.stage);
      awaited_[replica.value()].try_emplace(state_.index(replica, action.after));
    }
  }
}

bool Compute::lower(std::size_t device, std::size_t position) {
  ended_.reset();
  if (parts_.delivery.holds(device)) return false;
  const PassTask task = task_of(device, parts_.orders.actions(device)[position]);
  const std::size_t end = parts_.orders.joined_end(device, position);
  if (is_mark(task.action.kind)) return lower_marks(device, position, end);
  if (end > position + 1) {
    const PassTask second = task_of(device, parts_.orders.actions(device)[position + 1]);
    return lower_pair(task, second, task.action.kind == ActionKind::Forward ? position + 1 : position);
  }
  switch (task.action.kind) {
    case ActionKind::Forward: return lower_forward(task);
    case ActionKind::Backward:
    case ActionKind::BackwardInput: return lower_backward(task, position);
    case ActionKind::BackwardWeight: return lower_backward_weight(task);
    default: return false;  // sends and receives are lowered above
  }
}

bool Compute::has_forward_inputs(const PassTask& task) const {
  if (task.board.at(task.index).forward_arrived < task.worker.forward_inputs) {
    state_.await_input(task.replica);
    return false;
  }
  return parts_.live.can_run_forward(task.replica, task.action.microbatch);
}

bool Compute::has_backward_inputs(const PassTask& task) const {
  const MicrobatchBoard::Entry& entry = task.board.at(task.index);
  if (entry.forward.is_none()) return false;
  if (entry.backward_arrived < task.worker.backward_inputs) {
    state_.await_input(task.replica);
    return false;
  }
  if (!parts_.live.can_run_backward(task.replica, task.action.microbatch)) return false;
  return parts_.synchronise.can_run_backward(task.replica, task.index);
}

/// Writes the backward that the forward waits for into `after`, if it waits for one; false if that has not been
/// appended yet.
bool Compute::take_awaited(const PassTask& task, OpId& after) {
  if (task.action.after == kNoMicrobatch) return true;
  auto& awaited = awaited_[task.replica.value()];
  const auto found = awaited.find(state_.index(task.replica, task.action.after));
  STAGECRAFT_CHECK(found != awaited.end(), "no two forwards wait for one backward");
  after = found->second;
  if (after.is_none()) return false;
  awaited.erase(found);
  return true;
}

bool Compute::lower_forward(const PassTask& task) {
  if (parts_.divided.gathers_for_passes(task.replica)) return lower_jointly(task, 0);
  OpId after;
  if (!has_forward_inputs(task) || !take_awaited(task, after)) return false;
  parts_.delivery.about_to_use(task.replica, task.index, false);
  const auto [op, exchange] = passes_.forward_of(task);
  const OpId id = passes_.append_forward(task, op, after);
  finish_forward(task, passes_.append_exchange(task, exchange, id));
  return true;
}

void Compute::finish_forward(const PassTask& task, OpId op) {
  task.board.note_forward(task.index, op);
  parts_.delivery.send(task.replica, task.action.microbatch, op, false);
  parts_.live.note_forward(task.replica, task.action.microbatch, op);
  if (parts_.swapping.is_active()) parts_.swapping.copy_out(task.replica, task.action.microbatch);
  if (parts_.versions.is_active()) parts_.versions.note_forward(task.replica, task.action.microbatch);
}

bool Compute::lower_backward(const PassTask& task, std::size_t position) {
  if (parts_.divided.gathers_for_passes(task.replica)) return lower_jointly(task, position);
  if (!has_backward_inputs(task)) return false;
  if (parts_.swapping.is_active()) parts_.swapping.before_backward(task.replica, position);
  parts_.delivery.about_to_use(task.replica, task.index, true);
  parts_.synchronise.step_before_backward(task.replica);
  if (parts_.versions.is_active()) parts_.versions.before_backward(task.replica, task.action.microbatch);
  BackwardSteps steps = passes_.append_steps(task);
  if (parts_.versions.is_active()) parts_.versions.release(task.replica, task.action.microbatch);
  finish_steps(task, steps.last, std::move(steps.completes));
  return true;
}

/// The end of a backward, or of its input half.
void Compute::finish_steps(const PassTask& task, OpId op, std::vector<OpId> completes) {
  if (task.action.kind == ActionKind::Backward) {
    finish_backward(task, op, std::move(completes));
    return;
  }
  task.board.at(task.index).input = op;
  parts_.delivery.send(task.replica, task.action.microbatch, op, true);
}

void Compute::finish_backward(const PassTask& task, OpId op, std::vector<OpId> completes) {
  MicrobatchBoard& board = task.board;
  const bool is_split = !board.at(task.index).input.is_none();
  if (!is_split) parts_.delivery.send(task.replica, task.action.microbatch, op, true);
  board.finish(task.index);
  auto& awaited = awaited_[task.replica.value()];
  if (const auto found = awaited.find(task.index); found != awaited.end()) found->second = op;
  ended_ = EndedBackward{task.replica, task.action.microbatch, op, std::move(completes), false};
}

/// Lowers a pass that gathers its weights, when all replicas that gather with it have come to theirs. The last to come
/// appends the passes of all; each then goes on by itself.
bool Compute::lower_jointly(const PassTask& task, std::size_t position) {
  const bool is_forward = task.action.kind == ActionKind::Forward;
  if (!joint_.is_appended(task.replica)) {
    if (joint_.waits(task.replica)) return false;
    OpId after;
    if (is_forward ? !has_forward_inputs(task) || !take_awaited(task, after) : !has_backward_inputs(task)) return false;
    if (!is_forward && parts_.swapping.is_active()) parts_.swapping.before_backward(task.replica, position);
    parts_.delivery.about_to_use(task.replica, task.index, !is_forward);
    if (!joint_.arrive(task, after)) return false;
  }
  AppendedPass pass = joint_.take(task.replica);
  if (is_forward) {
    finish_forward(task, pass.end);
    return true;
  }
  finish_steps(task, pass.end, std::move(pass.completes));
  if (ended_) ended_->is_reduced = true;
  return true;
}

/// Appends one operation for the weight gradients of all steps, or one for each bucket of them. What the input-gradient
/// half has left is freed at the end.
bool Compute::lower_backward_weight(const PassTask& task) {
  const OpId input = task.board.at(task.index).input;
  if (input.is_none()) return false;
  const std::vector<BackwardStep>& steps = passes_.steps_of(task, true);
  Seconds all = task.program.overhead;
  for (const BackwardStep& step : steps) all += step.weight;
  Op op = state_.computation(task.replica, OpKind::BackwardWeight, task.action.microbatch);
  op.seconds = task.program.overhead;
  Bytes released;
  Bytes stash;
  Bytes workspace;
  OpId before = OpId::none();
  std::vector<OpId> completes;
  for (const BackwardStep& step : steps) {
    op.seconds += step.weight;
    released += passes_.left_for_weight(step.released);
    stash += passes_.left_for_weight(step.freed);
    workspace = std::max(workspace, step.workspace);
    op.closes = &step == &steps.back();
    if (step.completes == 0 && !op.closes) continue;
    if (task.action.duration >= Seconds(0)) {
      op.seconds = all > Seconds(0) ? task.action.duration * (op.seconds / all)
                                    : (op.closes ? task.action.duration : Seconds(0));
    }
    const bool is_first = before.is_none();
    before = passes_.append_next(task, op, before);
    if (is_first) state_.writer.depend_on(input);
    state_.writer.hold_while_it_runs(op.from, workspace);
    completes.insert(completes.end(), step.completes, before);
    op.seconds = Seconds(0);
    workspace = Bytes(0);
  }
  state_.writer.free(op.from, MemoryCategory::Workspace, released);
  state_.writer.free(op.from, MemoryCategory::Stash, stash);
  finish_backward(task, before, std::move(completes));
  return true;
}

/// Appends a forward and a backward as one operation. It needs the inputs of both, and both results leave at its end.
bool Compute::lower_pair(const PassTask& first, const PassTask& second, std::size_t back_position) {
  const bool first_is_forward = first.action.kind == ActionKind::Forward;
  const PassTask& forth = first_is_forward ? first : second;
  const PassTask& back = first_is_forward ? second : first;
  STAGECRAFT_CHECK(forth.action.kind == ActionKind::Forward && back.action.kind == ActionKind::Backward,
                   "a joined pair of actions is a forward and a backward");
  if (parts_.divided.gathers_for_passes(forth.replica) || parts_.divided.gathers_for_passes(back.replica)) {
    throw InputError("a forward and a backward that run as a pair cannot gather weights (zero 3)", {}, "zero 2");
  }
  OpId after;
  if (!has_forward_inputs(forth) || !has_backward_inputs(back) || !take_awaited(forth, after)) return false;
  parts_.delivery.about_to_use(forth.replica, forth.index, false);
  parts_.delivery.about_to_use(back.replica, back.index, true);
  if (parts_.swapping.is_active()) parts_.swapping.before_backward(back.replica, back_position);
  const bool moves_versions = parts_.versions.is_active();
  if (moves_versions) parts_.versions.before_backward(back.replica, back.action.microbatch);
  Op op = state_.computation(forth.replica, OpKind::ForwardBackward, forth.action.microbatch);
  op.seconds = seconds_or(first.action, forth.program.forward + back.program.backward_total());
  Seconds sum = forth.program.exchange;
  for (const BackwardStep& step : back.program.backward) sum += step.exchange + step.recompute_exchange;
  std::vector<Exchange> all;
  if (forth.worker.shares_links) all = exchanges_of_pair(forth.program, back.program);
  const ExchangePart exchanges = split_off(op, sum, forth.worker.shares_links ? &all : nullptr);
  op.closes = true;
  const std::vector<OpId>& weights = parts_.divided.before_forward(forth.replica);
  const OpId id = passes_.append(first, op);
  MicrobatchBoard& board = back.board;
  state_.writer.depend_on(forth.board.forward_inputs(forth.index));
  if (!weights.empty()) state_.writer.depend_on(weights.back());
  state_.writer.depend_on(board.at(back.index).forward);
  state_.writer.depend_on(board.backward_inputs(back.index));
  if (!after.is_none()) state_.writer.depend_on(after);
  if (parts_.swapping.is_active()) parts_.swapping.depend_on_backlog(forth.replica, forth.action.microbatch);
  for (const BackwardStep& step : back.program.backward) passes_.depend_on_copy_back(back, step);
  if (moves_versions) parts_.versions.depend_on_version(back.replica, back.action.microbatch);
  if (moves_versions) parts_.versions.release(back.replica, back.action.microbatch);
  state_.writer.take(op.from, MemoryCategory::Stash, forth.program.stash());
  Bytes workspace = forth.program.workspace;  // both run at once
  for (const BackwardStep& step : back.program.backward) workspace += step.restored;
  state_.writer.hold_while_it_runs(op.from, workspace);
  state_.writer.free(op.from, MemoryCategory::Stash, back.program.stash());
  const OpId end = passes_.append_exchange(first, exchanges, id);
  finish_forward(forth, end);
  finish_backward(back, end, {});
  return true;
}

/// Appends the sends and receives of a batch as marks that take no time. Transfers wait for the marks of both ends.
bool Compute::lower_marks(std::size_t device, std::size_t begin, std::size_t end) {
  const std::span batch = std::span(parts_.orders.actions(device)).subspan(begin, end - begin);
  const auto is_made = [&](const Action& action) { return has_sent_result(task_of(device, action)); };
  if (!std::ranges::all_of(batch, is_made)) return false;
  std::vector<PostedMark> posted;
  for (const Action& action : batch) {
    const PassTask task = task_of(device, action);
    const OpId id = passes_.append(task, state_.computation(task.replica, OpKind::Post, action.microbatch));
    posted.push_back({task.replica, action, id});
  }
  parts_.delivery.post(posted);
  return true;
}

OpId Compute::oldest() const {
  OpId oldest = joint_.oldest();
  for (const auto& awaited : awaited_) {
    for (const auto& [index, op] : awaited) oldest = std::min(oldest, op);
  }
  return oldest;
}

}  // namespace stagecraft
