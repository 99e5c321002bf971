#include "sim/base/error.hpp"
#include "sim/schedule/lowering.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

/// What follows from the end of a microbatch's backward at a worker: the all-reduce and update of its layers, and the
/// measured part of an asynchronous run.
void Lowering::note_backward(DeviceState& device, std::size_t number, std::uint32_t microbatch, OpId op) {
  Worker& worker = workers_[number];
  Group& group = groups_[group_of_[worker.stage.value()]];
  worker.last_backward = op;
  ++worker.backwards;
  if (!schedule_.synchronous) {
    note_measured(microbatch, op);
    if (group.workers.size() > 1) {
      note_round(group, local(worker, microbatch), op);
    } else if (worker.update > Seconds(0)) {
      append_update(device, worker, {});
    }
    return;
  }
  if (worker.backwards < worker.due || segment_begin_ < plan_.microbatches) return;
  if (++group.arrived == group.workers.size()) reduce_iteration(group);
}

/// The all-reduce of a flushed iteration: after the last backward of every replica that had any.
void Lowering::reduce_iteration(Group& group) {
  std::vector<OpId> after;
  for (std::size_t member : group.workers) {
    if (!workers_[member].last_backward.is_none()) after.push_back(workers_[member].last_backward);
  }
  group.arrived = group.workers.size();
  if (group.workers.size() > 1) all_reduce(group, after);
}

/// Asynchronous replicas exchange gradients after each round, one microbatch on each.
void Lowering::note_round(Group& group, std::int64_t round, OpId op) {
  std::vector<OpId>& ops = group.rounds[round];
  ops.push_back(op);
  if (ops.size() < group.workers.size()) return;
  const std::vector<OpId> after = std::move(ops);
  group.rounds.erase(round);
  all_reduce(group, after);
  for (std::size_t member : group.workers) ++workers_[member].synchronised_rounds;
}

/// A ring all-reduce as one flow for each neighbour: 2 (n - 1) steps of latency, and 2 (n - 1) / n of the parameters
/// over every hop. On the analytic network the same at the bandwidth of the slowest pair, without latency.
void Lowering::all_reduce(Group& group, const std::vector<OpId>& after) {
  const std::size_t count = group.workers.size();
  const auto n = static_cast<std::int64_t>(count);
  const bool analytic = options_.network == NetworkModel::Analytic;
  Seconds latency;
  Route route;
  for (std::size_t i = 0; i < count; ++i) {
    const Worker& from = workers_[group.workers[i]];
    const Worker& to = workers_[group.workers[(i + 1) % count]];
    if (analytic || from.device == to.device) continue;
    STAGECRAFT_CHECK(find_route(platform_, from.place, to.place, route), "replicas of a sound plan are connected");
    latency = std::max(latency, route.latency);
  }
  const Bytes bytes = ring_bytes(group.parameters, n);
  std::vector<OpId> start = after;
  if (latency > Seconds(0)) {
    Op delay;
    delay.kind = OpKind::Delay;
    delay.stage = workers_[group.workers.front()].stage;
    delay.seconds = latency * static_cast<double>(2 * (n - 1) - 1);
    start = {window_.append(delay)};
    for (OpId op : after) window_.depend_on(op);
  }
  std::vector<OpId> flows;
  for (std::size_t i = 0; i < count; ++i) {
    const Worker& from = workers_[group.workers[i]];
    Op flow;
    flow.kind = OpKind::AllReduce;
    flow.stage = from.stage;
    flow.from = from.place;
    flow.to = workers_[group.workers[(i + 1) % count]].place;
    flow.bytes = bytes;
    flow.literal = analytic;
    flow.seconds = group.analytic;
    flows.push_back(window_.append(flow));
    for (OpId op : start) window_.depend_on(op);
  }
  for (std::size_t i = 0; i < count; ++i) {
    workers_[group.workers[i]].synchronised = {flows[i], flows[(i + count - 1) % count]};
  }
}

void Lowering::append_update(DeviceState& device, Worker& worker, const std::vector<OpId>& after) {
  Op op;
  op.kind = OpKind::Update;
  op.lane = device.lane;
  op.stage = worker.stage;
  op.chunk = worker.chunk;
  op.microbatch = worker.updates++;
  op.from = op.to = worker.place;
  op.seconds = worker.update;
  append_on(device, op, {});
  for (OpId flow : after) window_.depend_on(flow);
  if (device.discipline == Discipline::Ready && !worker.last_backward.is_none()) {
    window_.depend_on(worker.last_backward);
  }
}

/// Marks c_i and c_j: the end of the last backward of the first and the last measured microbatch.
void Lowering::note_measured(std::uint32_t microbatch, OpId op) {
  if (microbatch != measured_.first && microbatch != measured_.last) return;
  std::vector<OpId>& ops = measured_backwards_[microbatch];
  ops.push_back(op);
  if (ops.size() < backwards_per_microbatch_) return;
  Op mark;
  mark.kind = OpKind::Barrier;
  mark.microbatch = microbatch;
  window_.append(mark);
  for (OpId backward : ops) window_.depend_on(backward);
  measured_backwards_.erase(microbatch);
}

/// The flush: updates, then a barrier that the next iteration waits for. Whether there is more to come.
bool Lowering::end_iteration() {
  if (!schedule_.synchronous) return false;
  if (iteration_ >= options_.iterations) return false;
  for (Group& group : groups_) {  // replicas without a microbatch have not arrived
    if (group.arrived < group.workers.size()) reduce_iteration(group);
  }
  for (Worker& worker : workers_) {
    if (worker.update > Seconds(0)) append_update(devices_[worker.order], worker, worker.synchronised);
  }
  append_barrier();
  for (Worker& worker : workers_) {
    worker.backwards = worker.due = 0;
    worker.board.restart((iteration_ + 1) * worker.count);
    worker.last_backward = OpId::none();
    worker.synchronised.clear();
    worker.prefetch = -1;
    worker.prefetch_after = OpId::none();
  }
  for (Group& group : groups_) group.arrived = 0;
  if (++iteration_ >= options_.iterations) return false;
  segment_begin_ = 0;
  take_actions(next_segment());
  return true;
}

void Lowering::append_barrier() {
  Op op;
  op.kind = OpKind::Barrier;
  op.microbatch = label(static_cast<std::uint32_t>(plan_.microbatches - 1));
  const OpId barrier = window_.append(op);
  for (DeviceState& device : devices_) {
    if (!device.last.is_none()) window_.depend_on(device.last);
    device.barrier = barrier;
  }
  for (const Worker& worker : workers_) {
    for (OpId flow : worker.synchronised) window_.depend_on(flow);
    if (devices_[worker.order].discipline == Discipline::Ready && !worker.last_backward.is_none()) {
      window_.depend_on(worker.last_backward);
    }
  }
}

}  // namespace stagecraft
