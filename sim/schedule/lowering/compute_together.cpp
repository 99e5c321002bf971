#include "sim/base/error.hpp"
#include "sim/schedule/lowering/compute.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace stagecraft {

// A pass that gathers its weights is appended unit by unit, of all replicas together: before the computations of a unit
// the gather of the next one, after them the reduce-scatter of the gradients that they complete.

/// Lowers a pass that gathers its weights, when all replicas that gather with it have come to theirs. The last to come
/// appends the passes of all; each then goes on by itself.
bool Compute::lower_jointly(const Task& task, std::size_t position) {
  if (state_.is_on_ready_lane(task.replica)) {
    throw InputError("devices that choose among ready operations cannot gather weights for them (zero 3)", {},
                     "zero 2");
  }
  const bool is_forward = task.action.kind == ActionKind::Forward;
  std::optional<AppendedPass> appended = joint_.take(task.replica);
  if (!appended) {
    if (joint_.waits(task.replica)) return false;
    ArrivedPass arrived{task.replica, task.action, OpId::none()};
    if (is_forward) {
      if (!has_forward_inputs(task) || !take_awaited(task, arrived.after)) return false;
    } else {
      if (!has_backward_inputs(task)) return false;
      if (parts_.swapping.is_active()) parts_.swapping.before_backward(task.replica, position);
    }
    parts_.delivery.about_to_use(task.replica, task.index, !is_forward);
    const auto together = joint_.arrive(arrived, parts_.synchronise.ring_members(task.replica));
    if (together.empty()) return false;
    append_together(together);
    appended = joint_.take(task.replica);
  }
  if (is_forward) {
    finish_forward(task, appended->end);
    return true;
  }
  finish_steps(task, appended->end, std::move(appended->completes));
  if (ended_) ended_->is_reduced = true;
  return true;
}

void Compute::append_together(const std::vector<ArrivedPass>& arrived) {
  std::vector<Together> passes;
  for (const ArrivedPass& pass : arrived) {
    const std::size_t device = state_.shape.device_index(pass.replica);
    Together& each = passes.emplace_back(Together{task_of(device, pass.action), pass.after, {}, {}, {}, OpId::none()});
    if (pass.action.kind == ActionKind::Forward) {
      std::tie(each.op, each.exchange) = forward_of(each.task);
    } else {
      each.steps.emplace(begin_steps(each.task));
    }
  }
  const ReplicaId first = arrived.front().replica;
  const std::uint32_t microbatch = arrived.front().action.microbatch;
  const std::size_t buckets = parts_.synchronise.weight_buckets(first);
  const bool is_forward = !passes.front().steps;
  const std::vector<GatherUnit> units =
      is_forward ? forward_units(buckets) : gather_units(passes.front().steps->all, buckets);
  std::vector<OpId> gathered;
  for (std::size_t at = 0; at < units.size(); ++at) {
    while (gathered.size() < std::min(at + 2, units.size())) {
      const std::vector<OpId> before = joint_.before_gather(arrived, !gathered.empty());
      gathered.push_back(parts_.synchronise.gather_unit(first, units[gathered.size()], before, microbatch));
    }
    const std::size_t completed = is_forward ? 0 : passes.front().steps->completes.size();
    for (Together& pass : passes) append_unit(pass, units[at], gathered[at]);
    reduce_after_unit(passes, completed);
  }
  for (Together& pass : passes) {
    AppendedPass appended{pass.last, {}};
    if (pass.steps) appended.completes = std::move(pass.steps->completes);
    joint_.append(pass.task.replica, std::move(appended));
  }
}

/// Appends the computations of a unit of one replica's pass, which wait for the weights.
void Compute::append_unit(Together& pass, const GatherUnit& unit, OpId weights) {
  if (pass.steps) {
    for (std::size_t at = unit.first_step; at < unit.end_step; ++at) {
      append_step(pass.task, *pass.steps, at, at == unit.first_step ? weights : OpId::none());
    }
    pass.last = pass.steps->last;
  } else {
    Op op = pass.op;
    op.seconds = part_of_forward(pass.task, unit.first_bucket, pass.op.seconds);
    pass.last = append_part(pass.task, op, unit.first_bucket, weights, pass.after);
    const bool is_last = unit.end_bucket == parts_.synchronise.weight_buckets(pass.task.replica);
    if (is_last) pass.last = append_exchange(pass.task, pass.exchange, pass.last);
  }
  joint_.note_unit(pass.task.replica, pass.last);
}

/// Appends the reduce-scatters of the gradients that the last unit of whole backwards has completed: all but the first
/// `before`.
void Compute::reduce_after_unit(const std::vector<Together>& passes, std::size_t before) {
  const Task& first = passes.front().task;
  if (first.action.kind != ActionKind::Backward) return;
  for (std::size_t k = before; k < passes.front().steps->completes.size(); ++k) {
    std::vector<OpId> completes;
    for (const Together& pass : passes) completes.push_back(pass.steps->completes[k]);
    parts_.synchronise.reduce_bucket(first.replica, k, std::move(completes), first.action.microbatch);
  }
}

}  // namespace stagecraft
