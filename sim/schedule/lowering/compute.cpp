#include "sim/schedule/lowering/compute.hpp"

#include "sim/base/error.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::int32_t kBeforeAll = std::numeric_limits<std::int32_t>::min();

/// Seconds of one step of a backward, of both halves or of the input-gradient half. If the action gives a duration for
/// the whole backward, the step gets its proportional part.
Seconds step_seconds(const std::vector<BackwardStep>& steps, const BackwardStep& step, const Action& action) {
  const auto nominal = [&](const BackwardStep& of) {
    return action.kind == ActionKind::Backward ? of.backward : of.input();
  };
  if (action.duration < Seconds(0)) return nominal(step);
  Seconds sum;
  for (const BackwardStep& other : steps) sum += nominal(other);
  if (sum <= Seconds(0)) return action.duration / static_cast<double>(steps.size());
  return action.duration * (nominal(step) / sum);
}

Seconds seconds_or(const Action& action, Seconds nominal) {
  return action.duration >= Seconds(0) ? action.duration : nominal;
}

/// What a group that shares links exchanges in these steps of a backward; null for others. `set`: of the program.
const std::vector<StepExchanges>* exchanges_of(const WorkerShape& worker, const StageProgram& program, std::size_t set,
                                               const std::vector<BackwardStep>& steps) {
  if (!worker.shares_links) return nullptr;
  return &steps == &program.backward ? &program.exchanges->steps : &worker.work.exchanges_in_buckets[set];
}

/// What a group exchanges in the forward of one program and the backward of another one.
std::vector<Exchange> exchanges_of_pair(const StageProgram& forth, const StageProgram& back) {
  std::vector<Exchange> all = forth.exchanges->forward;
  for (const StepExchanges& step : back.exchanges->steps) {
    for (const Exchange& exchange : step.recompute) add_exchange(all, exchange);
    for (const Exchange& exchange : step.backward) add_exchange(all, exchange);
  }
  return all;
}

}  // namespace

Compute::Compute(const LoweringParts& parts)
    : state_(parts.state),
      parts_(parts),
      group_exchanges_(parts.state),
      joint_(parts.state),
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
  const Task task = task_of(device, parts_.orders.actions(device)[position]);
  ended_.reset();
  if (parts_.orders.is_pair(device, position)) {
    const Task second = task_of(device, parts_.orders.actions(device)[position + 1]);
    return lower_pair(task, second, task.action.kind == ActionKind::Forward ? position + 1 : position);
  }
  switch (task.action.kind) {
    case ActionKind::Forward: return lower_forward(task);
    case ActionKind::Backward:
    case ActionKind::BackwardInput: return lower_backward(task, position);
    case ActionKind::BackwardWeight: return lower_backward_weight(task);
    case ActionKind::SendActivation:
    case ActionKind::ReceiveActivation:
    case ActionKind::SendGradient:
    case ActionKind::ReceiveGradient: return lower_mark(task);
  }
  return false;
}

bool Compute::has_forward_inputs(const Task& task) const {
  if (task.board.at(task.index).forward_arrived < task.worker.forward_inputs) {
    state_.await_input(task.replica);
    return false;
  }
  return parts_.live.can_run_forward(task.replica, task.action.microbatch);
}

bool Compute::has_backward_inputs(const Task& task) const {
  const MicrobatchBoard::Entry& entry = task.board.at(task.index);
  if (entry.forward.is_none()) return false;
  if (entry.backward_arrived < task.worker.backward_inputs) {
    state_.await_input(task.replica);
    return false;
  }
  if (!parts_.live.can_run_backward(task.replica, task.action.microbatch)) return false;
  return parts_.synchronise.can_run_backward(task.replica, task.index);
}

OpId Compute::append(const Task& task, const Op& op) {
  return state_.append_computation(task.replica, op, task.action.priority, task.action.not_before);
}

/// Writes the backward that the forward waits for into `after`, if it waits for one; false if that has not been
/// appended yet.
bool Compute::take_awaited(const Task& task, OpId& after) {
  if (task.action.after == kNoMicrobatch) return true;
  auto& awaited = awaited_[task.replica.value()];
  const auto found = awaited.find(state_.index(task.replica, task.action.after));
  STAGECRAFT_CHECK(found != awaited.end(), "no two forwards wait for one backward");
  after = found->second;
  if (after.is_none()) return false;
  awaited.erase(found);
  return true;
}

bool Compute::lower_forward(const Task& task) {
  if (parts_.synchronise.gathers_for_passes(task.replica)) return lower_jointly(task, 0);
  OpId after;
  if (!has_forward_inputs(task) || !take_awaited(task, after)) return false;
  parts_.delivery.about_to_use(task.replica, task.index, false);
  auto [op, exchange] = forward_of(task);
  const OpId id = append_forward(task, op, after);
  finish_forward(task, append_exchange(task, exchange, id));
  return true;
}

/// A forward without what a group exchanges at its end, and that.
std::pair<Op, ExchangePart> Compute::forward_of(const Task& task) const {
  Op op = state_.computation(task.replica, OpKind::Forward, task.action.microbatch);
  op.seconds = seconds_or(task.action, task.program.forward);
  const std::vector<Exchange>* shared = task.worker.shares_links ? &task.program.exchanges->forward : nullptr;
  const ExchangePart exchange = split_off(op, task.program.exchange, shared);
  return {op, exchange};
}

/// The time of the k-th part of a forward that takes `whole`.
Seconds Compute::part_of_forward(const Task& task, std::size_t k, Seconds whole) const {
  const ReplicaWork& work = task.worker.work;
  const std::int64_t local = state_.replicas().local(task.replica, task.action.microbatch);
  const std::vector<Seconds>& parts = work.forwards_in_buckets[work.programs.set_of(local)];
  Seconds sum;
  for (const Seconds part : parts) sum += part;
  if (sum <= Seconds(0)) return k == 0 ? whole : Seconds(0);
  return whole * (parts[k] / sum);
}

/// Appends the k-th part of a forward, which also waits for its bucket of weights if there is one. The first one waits
/// for the inputs of the whole, and for the backward `after`.
OpId Compute::append_part(const Task& task, Op op, std::size_t k, OpId weights, OpId after) {
  op.continues = k > 0;
  const OpId id = append(task, op);
  if (k == 0) {
    state_.writer.depend_on(task.board.forward_inputs(task.index));
    if (!after.is_none()) state_.writer.depend_on(after);
    if (parts_.swapping.is_active()) parts_.swapping.depend_on_backlog(task.replica, task.action.microbatch);
    parts_.live.depend_forward(task.replica, task.action.microbatch);
    state_.writer.take(op.from, MemoryCategory::Stash, task.program.stash());
  }
  if (!weights.is_none()) state_.writer.depend_on(weights);
  state_.writer.hold_while_it_runs(op.from, task.program.workspace);
  return id;
}

/// Appends a forward: one operation, or one for each bucket of weights that are missing. Returns the last one.
OpId Compute::append_forward(const Task& task, Op op, OpId after) {
  const std::vector<OpId>& weights = parts_.synchronise.weights_before_forward(task.replica);
  const Seconds whole = op.seconds;
  if (weights.size() < 2 || state_.is_on_ready_lane(task.replica)) {
    return append_part(task, op, 0, weights.empty() ? OpId::none() : weights.back(), after);
  }
  OpId id;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    op.seconds = part_of_forward(task, k, whole);
    id = append_part(task, op, k, weights[k], after);
  }
  return id;
}

void Compute::finish_forward(const Task& task, OpId op) {
  task.board.note_forward(task.index, op);
  parts_.delivery.send(task.replica, task.action.microbatch, op, false);
  parts_.live.note_forward(task.replica, task.action.microbatch, op);
  if (parts_.swapping.is_active()) parts_.swapping.copy_out(task.replica, task.action.microbatch);
  if (parts_.versions.is_active()) parts_.versions.note_forward(task.replica, task.action.microbatch);
}

/// Makes the first operation of a backward wait for its inputs. A strict lane already runs it after its own forward.
void Compute::depend_on_backward_inputs(const Task& task) {
  MicrobatchBoard& board = task.board;
  if (state_.is_on_ready_lane(task.replica)) state_.writer.depend_on(board.at(task.index).forward);
  state_.writer.depend_on(parts_.synchronise.before_backward(task.replica));
  state_.writer.depend_on(board.backward_inputs(task.index));
  parts_.live.depend_backward(task.replica, task.action.microbatch);
  if (parts_.versions.is_active()) parts_.versions.depend_on_version(task.replica, task.action.microbatch);
}

void Compute::depend_on_copy_back(const Task& task, const BackwardStep& step) {
  if (!step.needs) return;
  const OpId copy = task.board.swap_ins(task.index)[*step.needs];
  if (!copy.is_none()) state_.writer.depend_on(copy);
}

/// Appends an operation that follows `before` at once, if there is one: nothing else may run between them.
OpId Compute::append_next(const Task& task, const Op& op, OpId before) {
  const OpId id = append(task, op);
  if (!before.is_none() && state_.is_on_ready_lane(task.replica)) {
    state_.writer.depend_on(before);
    state_.writer.last().priority = kBeforeAll;
  }
  return id;
}

/// Appends what the members of a group exchange after `before`, if they do. Returns the last operation.
OpId Compute::append_exchange(const Task& task, const ExchangePart& part, OpId before) {
  if (part.seconds <= Seconds(0)) return before;
  Op exchange = state_.computation(task.replica, OpKind::Exchange, task.action.microbatch);
  exchange.seconds = part.seconds;
  exchange.literal = part.exchanges == nullptr;
  exchange.closes = std::exchange(state_.writer.last().closes, false);
  if (exchange.literal) return append_next(task, exchange, before);
  const OpId flows = group_exchanges_.append(task.replica, task.action.microbatch, *part.exchanges, before);
  const OpId id = append_next(task, exchange, before);
  state_.writer.depend_on(flows);  // as the last: it holds up the end alone
  return id;
}

/// The steps of a backward. If weight gradients end with it that are exchanged next, they end where a bucket of them is
/// complete; where weights are gathered for it, where a bucket of these is needed no longer.
const std::vector<BackwardStep>& Compute::steps_of(const Task& task, bool ends_weights) const {
  const std::vector<std::vector<BackwardStep>>& in_buckets = task.worker.work.in_buckets;
  const bool completes = ends_weights && parts_.synchronise.may_complete_gradients(task.replica);
  if (in_buckets.empty() || (!completes && !parts_.synchronise.gathers_for_passes(task.replica))) {
    return task.program.backward;
  }
  return in_buckets[task.worker.work.programs.set_of(state_.replicas().local(task.replica, task.action.microbatch))];
}

Compute::Steps Compute::begin_steps(const Task& task) const {
  const std::vector<BackwardStep>& steps = steps_of(task, task.action.kind == ActionKind::Backward);
  const std::size_t set =
      task.worker.work.programs.set_of(state_.replicas().local(task.replica, task.action.microbatch));
  return {steps, exchanges_of(task.worker, task.program, set, steps), OpId::none(), {}};
}

/// Appends a step of a backward, after its recompute if the plan has one; the first of both waits for `weights` too.
void Compute::append_step(const Task& task, Steps& steps, std::size_t at, OpId weights) {
  const bool whole = task.action.kind == ActionKind::Backward;
  const BackwardStep& step = steps.all[at];
  const auto append_one = [&](Op op, bool is_recompute) {
    const bool is_first = steps.last.is_none();
    const std::vector<Exchange>* shared = nullptr;
    if (steps.exchanges != nullptr) {
      const StepExchanges& own = (*steps.exchanges)[at];
      shared = is_recompute ? &own.recompute : &own.backward;
    }
    const ExchangePart exchange = split_off(op, is_recompute ? step.recompute_exchange : step.exchange, shared);
    steps.last = append_next(task, op, steps.last);
    if (is_first) depend_on_backward_inputs(task);
    if (is_recompute == step.recomputes) depend_on_copy_back(task, step);
    if (is_recompute == step.recomputes && !weights.is_none()) state_.writer.depend_on(weights);
    state_.writer.hold_while_it_runs(task.worker.place, step.workspace);
    if (is_recompute) state_.writer.take(task.worker.place, MemoryCategory::Workspace, step.restored);
    steps.last = append_exchange(task, exchange, steps.last);
  };
  if (step.recomputes) {
    Op recompute = state_.computation(task.replica, OpKind::Recompute, task.action.microbatch);
    recompute.seconds = step.recompute;
    append_one(recompute, true);
  }
  Op backward =
      state_.computation(task.replica, whole ? OpKind::Backward : OpKind::BackwardInput, task.action.microbatch);
  backward.seconds = step_seconds(steps.all, step, task.action);
  backward.closes = whole && &step == &steps.all.back();
  append_one(backward, false);
  free_after(task, step, whole);
  steps.completes.insert(steps.completes.end(), step.completes, steps.last);
}

/// Appends a backward step by step, from the last layer to the first. The caller may still add memory changes to the
/// last operation.
Compute::Steps Compute::append_steps(const Task& task) {
  Steps steps = begin_steps(task);
  for (std::size_t at = 0; at < steps.all.size(); ++at) append_step(task, steps, at, OpId::none());
  return steps;
}

/// The end of a step frees what no later one needs: all of it, or of an input half the share that is not for the weight
/// half.
void Compute::free_after(const Task& task, const BackwardStep& step, bool whole) {
  const auto freed = [&](Bytes bytes) { return whole ? bytes : bytes - left_for_weight(bytes); };
  state_.writer.free(task.worker.place, MemoryCategory::Workspace, freed(step.released));
  state_.writer.free(task.worker.place, MemoryCategory::Stash, freed(step.freed));
}

Bytes Compute::left_for_weight(Bytes bytes) const { return left_by_input_half(bytes, state_.shape.plan().training); }

bool Compute::lower_backward(const Task& task, std::size_t position) {
  if (parts_.synchronise.gathers_for_passes(task.replica)) return lower_jointly(task, position);
  if (!has_backward_inputs(task)) return false;
  if (parts_.swapping.is_active()) parts_.swapping.before_backward(task.replica, position);
  parts_.delivery.about_to_use(task.replica, task.index, true);
  parts_.synchronise.step_before_backward(task.replica);
  if (parts_.versions.is_active()) parts_.versions.before_backward(task.replica, task.action.microbatch);
  Steps steps = append_steps(task);
  if (parts_.versions.is_active()) parts_.versions.release(task.replica, task.action.microbatch);
  finish_steps(task, steps.last, std::move(steps.completes));
  return true;
}

/// The end of a backward, or of its input half.
void Compute::finish_steps(const Task& task, OpId op, std::vector<OpId> completes) {
  if (task.action.kind == ActionKind::Backward) return finish_backward(task, op, std::move(completes));
  task.board.at(task.index).input = op;
  parts_.delivery.send(task.replica, task.action.microbatch, op, true);
}

void Compute::finish_backward(const Task& task, OpId op, std::vector<OpId> completes) {
  MicrobatchBoard& board = task.board;
  const bool is_split = !board.at(task.index).input.is_none();
  if (!is_split) parts_.delivery.send(task.replica, task.action.microbatch, op, true);
  board.finish(task.index);
  auto& awaited = awaited_[task.replica.value()];
  if (const auto found = awaited.find(task.index); found != awaited.end()) found->second = op;
  ended_ = EndedBackward{task.replica, task.action.microbatch, op, std::move(completes), false};
}

/// Appends one operation for the weight gradients of all steps, or one for each bucket of them. What the input-gradient
/// half has left is freed at the end.
bool Compute::lower_backward_weight(const Task& task) {
  const OpId input = task.board.at(task.index).input;
  if (input.is_none()) return false;
  const std::vector<BackwardStep>& steps = steps_of(task, true);
  Seconds all;
  for (const BackwardStep& step : steps) all += step.weight;
  Op op = state_.computation(task.replica, OpKind::BackwardWeight, task.action.microbatch);
  Bytes released;
  Bytes stash;
  Bytes workspace;
  OpId before = OpId::none();
  std::vector<OpId> completes;
  for (const BackwardStep& step : steps) {
    op.seconds += step.weight;
    released += left_for_weight(step.released);
    stash += left_for_weight(step.freed);
    workspace = std::max(workspace, step.workspace);
    op.closes = &step == &steps.back();
    if (step.completes == 0 && !op.closes) continue;
    if (task.action.duration >= Seconds(0)) {
      op.seconds = all > Seconds(0) ? task.action.duration * (op.seconds / all)
                                    : (op.closes ? task.action.duration : Seconds(0));
    }
    const bool is_first = before.is_none();
    before = append_next(task, op, before);
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
bool Compute::lower_pair(const Task& first, const Task& second, std::size_t back_position) {
  const bool first_is_forward = first.action.kind == ActionKind::Forward;
  const Task& forth = first_is_forward ? first : second;
  const Task& back = first_is_forward ? second : first;
  STAGECRAFT_CHECK(forth.action.kind == ActionKind::Forward && back.action.kind == ActionKind::Backward,
                   "a joined pair of actions is a forward and a backward");
  if (parts_.synchronise.gathers_for_passes(forth.replica) || parts_.synchronise.gathers_for_passes(back.replica)) {
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
  const std::vector<OpId>& weights = parts_.synchronise.weights_before_forward(forth.replica);
  const OpId id = append(first, op);
  MicrobatchBoard& board = back.board;
  state_.writer.depend_on(forth.board.forward_inputs(forth.index));
  if (!weights.empty()) state_.writer.depend_on(weights.back());
  state_.writer.depend_on(board.at(back.index).forward);
  state_.writer.depend_on(board.backward_inputs(back.index));
  if (!after.is_none()) state_.writer.depend_on(after);
  if (parts_.swapping.is_active()) parts_.swapping.depend_on_backlog(forth.replica, forth.action.microbatch);
  for (const BackwardStep& step : back.program.backward) depend_on_copy_back(back, step);
  if (moves_versions) parts_.versions.depend_on_version(back.replica, back.action.microbatch);
  if (moves_versions) parts_.versions.release(back.replica, back.action.microbatch);
  state_.writer.take(op.from, MemoryCategory::Stash, forth.program.stash());
  Bytes workspace = forth.program.workspace;  // both run at once
  for (const BackwardStep& step : back.program.backward) workspace += step.restored;
  state_.writer.hold_while_it_runs(op.from, workspace);
  state_.writer.free(op.from, MemoryCategory::Stash, back.program.stash());
  const OpId end = append_exchange(first, exchanges, id);
  finish_forward(forth, end);
  finish_backward(back, end, {});
  return true;
}

/// Appends a send or a receive of a device's order as a mark that takes no time. The transfer waits for both marks.
bool Compute::lower_mark(const Task& task) {
  const bool is_activation = task.action.kind == ActionKind::SendActivation;
  MicrobatchBoard& board = task.board;
  if ((is_activation || task.action.kind == ActionKind::SendGradient) && !board.is_finished(task.index)) {
    const MicrobatchBoard::Entry& entry = board.at(task.index);
    if ((is_activation ? entry.forward : entry.input).is_none()) return false;  // its result is not appended yet
  }
  const OpId id = append(task, state_.computation(task.replica, OpKind::Post, task.action.microbatch));
  parts_.delivery.post(task.replica, task.action, id);
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
