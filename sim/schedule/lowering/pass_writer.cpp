#include "sim/schedule/lowering/pass_writer.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/memory_ledger.hpp"

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

/// What a group that shares links exchanges in these steps of a backward; null for others. `set`: of the program.
const std::vector<StepExchanges>* exchanges_of(const WorkerShape& worker, const StageProgram& program, std::size_t set,
                                               const std::vector<BackwardStep>& steps) {
  if (!worker.shares_links) return nullptr;
  return &steps == &program.backward ? &program.exchanges->steps : &worker.work.exchanges_in_buckets[set];
}

}  // namespace

PassTask task_of(LoweringState& state, ReplicaId replica, const Action& action) {
  const WorkerShape& worker = state.worker(replica, action.microbatch, is_backward(action.kind));
  const StageProgram& program = worker.work.programs.of(state.replicas().local(replica, action.microbatch));
  return {action, replica, state.index(replica, action.microbatch), state.boards[replica], worker, program};
}

Seconds seconds_or(const Action& action, Seconds nominal) {
  return action.duration >= Seconds(0) ? action.duration : nominal;
}

PassWriter::PassWriter(const LoweringParts& parts)
    : state_(parts.state),
      swapping_(parts.swapping),
      versions_(parts.versions),
      synchronise_(parts.synchronise),
      divided_(parts.divided),
      live_(parts.live),
      group_exchanges_(parts.state) {}

OpId PassWriter::append(const PassTask& task, const Op& op) {
  return state_.append_computation(task.replica, op, task.action.priority, task.action.not_before);
}

std::pair<Op, ExchangePart> PassWriter::forward_of(const PassTask& task) const {
  Op op = state_.computation(task.replica, OpKind::Forward, task.action.microbatch);
  op.seconds = seconds_or(task.action, task.program.forward);
  const std::vector<Exchange>* shared = task.worker.shares_links ? &task.program.exchanges->forward : nullptr;
  const ExchangePart exchange = split_off(op, task.program.exchange, shared);
  return {op, exchange};
}

/// The time of the k-th part of a forward that takes `whole`.
Seconds PassWriter::part_of_forward(const PassTask& task, std::size_t k, Seconds whole) const {
  const ReplicaWork& work = task.worker.work;
  const std::int64_t local = state_.replicas().local(task.replica, task.action.microbatch);
  const std::vector<Seconds>& parts = work.forwards_in_buckets[work.programs.set_of(local)];
  Seconds sum;
  for (const Seconds part : parts) sum += part;
  if (sum <= Seconds(0)) return k == 0 ? whole : Seconds(0);
  return whole * (parts[k] / sum);
}

OpId PassWriter::append_forward(const PassTask& task, const Op& whole, OpId after) {
  const std::vector<OpId>& weights = divided_.before_forward(task.replica);
  if (weights.size() < 2 || state_.is_on_ready_lane(task.replica)) {
    return append_forward_op(task, whole, weights.empty() ? OpId::none() : weights.back(), after);
  }
  OpId id;
  for (std::size_t k = 0; k < weights.size(); ++k) id = append_part(task, whole, k, weights[k], after);
  return id;
}

OpId PassWriter::append_part(const PassTask& task, const Op& whole, std::size_t k, OpId weights, OpId after) {
  Op op = whole;
  op.continues = k > 0;
  op.seconds = part_of_forward(task, k, whole.seconds);
  return append_forward_op(task, op, weights, after);
}

OpId PassWriter::append_forward_op(const PassTask& task, const Op& op, OpId weights, OpId after) {
  const OpId id = append(task, op);
  if (!op.continues) {
    state_.writer.depend_on(task.board.forward_inputs(task.index));
    if (!after.is_none()) state_.writer.depend_on(after);
    if (swapping_.is_active()) swapping_.depend_on_backlog(task.replica, task.action.microbatch);
    live_.depend_forward(task.replica, task.action.microbatch);
    state_.writer.take(op.from, MemoryCategory::Stash, task.program.stash());
  }
  if (!weights.is_none()) state_.writer.depend_on(weights);
  state_.writer.hold_while_it_runs(op.from, task.program.workspace);
  return id;
}

/// Makes the first operation of a backward wait for its inputs. A strict lane already runs it after its own forward.
void PassWriter::depend_on_backward_inputs(const PassTask& task) {
  MicrobatchBoard& board = task.board;
  if (state_.is_on_ready_lane(task.replica)) state_.writer.depend_on(board.at(task.index).forward);
  state_.writer.depend_on(synchronise_.before_backward(task.replica));
  state_.writer.depend_on(board.backward_inputs(task.index));
  live_.depend_backward(task.replica, task.action.microbatch);
  if (versions_.is_active()) versions_.depend_on_version(task.replica, task.action.microbatch);
}

void PassWriter::depend_on_copy_back(const PassTask& task, const BackwardStep& step) {
  if (!step.needs) return;
  const OpId copy = task.board.swap_ins(task.index)[*step.needs];
  if (!copy.is_none()) state_.writer.depend_on(copy);
}

OpId PassWriter::append_next(const PassTask& task, const Op& op, OpId before) {
  const OpId id = append(task, op);
  if (!before.is_none() && state_.is_on_ready_lane(task.replica)) {
    state_.writer.depend_on(before);
    state_.writer.last().priority = kBeforeAll;
  }
  return id;
}

OpId PassWriter::append_exchange(const PassTask& task, const ExchangePart& part, OpId before) {
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

const std::vector<BackwardStep>& PassWriter::steps_of(const PassTask& task, bool ends_weights) const {
  const std::vector<std::vector<BackwardStep>>& in_buckets = task.worker.work.in_buckets;
  const bool completes = ends_weights && synchronise_.may_complete_gradients(task.replica);
  if (in_buckets.empty() || (!completes && !divided_.gathers_for_passes(task.replica))) {
    return task.program.backward;
  }
  return in_buckets[task.worker.work.programs.set_of(state_.replicas().local(task.replica, task.action.microbatch))];
}

BackwardSteps PassWriter::begin_steps(const PassTask& task) const {
  const std::vector<BackwardStep>& steps = steps_of(task, task.action.kind == ActionKind::Backward);
  const std::size_t set =
      task.worker.work.programs.set_of(state_.replicas().local(task.replica, task.action.microbatch));
  return {steps, exchanges_of(task.worker, task.program, set, steps), OpId::none(), {}};
}

void PassWriter::append_step(const PassTask& task, BackwardSteps& steps, std::size_t at, OpId weights) {
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

BackwardSteps PassWriter::append_steps(const PassTask& task) {
  BackwardSteps steps = begin_steps(task);
  for (std::size_t at = 0; at < steps.all.size(); ++at) append_step(task, steps, at, OpId::none());
  return steps;
}

/// The end of a step frees what no later one needs: all of it, or of an input half the share that is not for the weight
/// half.
void PassWriter::free_after(const PassTask& task, const BackwardStep& step, bool whole) {
  const auto freed = [&](Bytes bytes) { return whole ? bytes : bytes - left_for_weight(bytes); };
  state_.writer.free(task.worker.place, MemoryCategory::Workspace, freed(step.released));
  state_.writer.free(task.worker.place, MemoryCategory::Stash, freed(step.freed));
}

Bytes PassWriter::left_for_weight(Bytes bytes) const { return left_by_input_half(bytes, state_.shape.plan().training); }

}  // namespace stagecraft
