#include "sim/schedule/lowering/joint_passes.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <tuple>

namespace stagecraft {

JointPasses::JointPasses(LoweringState& state, DividedState& divided, PassWriter& writer)
    : state_(state),
      divided_(divided),
      writer_(writer),
      waits_(state.replicas().size()),
      appended_(state.replicas().size()),
      units_(state.replicas().size()) {}

bool JointPasses::arrive(const PassTask& task, OpId after) {
  if (state_.is_on_ready_lane(task.replica)) {
    throw InputError("devices that choose among ready operations cannot gather weights for them (zero 3)", {},
                     "zero 2");
  }
  const std::int64_t before = had_[{task.replica, task.action.kind}]++;
  const auto found = arrived_.try_emplace({task.action.stage, {task.action.kind, before}}).first;
  found->second.push_back({task.action, task.replica, after});
  waits_[task.replica] = 1;
  const auto takes_part = [&](ReplicaId replica) { return state_.shape[replica].count > before; };
  if (std::ssize(found->second) < std::ranges::count_if(divided_.sharers(task.replica), takes_part)) return false;
  std::vector<Arrived> arrived = std::move(found->second);
  arrived_.erase(found);
  std::ranges::sort(arrived, {}, &Arrived::replica);
  append(arrived);
  return true;
}

void JointPasses::append(const std::vector<Arrived>& arrived) {
  const auto& [action, first, none] = arrived.front();
  const bool is_forward = action.kind == ActionKind::Forward;
  std::vector<Pass> passes;
  for (const Arrived& each : arrived) {
    waits_[each.replica] = 0;
    Pass& pass = passes.emplace_back(Pass{task_of(state_, each.replica, each.action), each.after});
    if (is_forward) {
      std::tie(pass.forward, pass.exchange) = writer_.forward_of(pass.task);
    } else {
      pass.steps.emplace(writer_.begin_steps(pass.task));
    }
  }
  const std::size_t buckets = divided_.buckets(first);
  const std::vector<GatherUnit> units =
      is_forward ? forward_units(buckets) : gather_units(passes.front().steps->all, buckets);
  std::vector<OpId> gathered;
  const std::int64_t begun = begun_[action.stage];
  begun_[action.stage] += std::ssize(units);
  for (std::size_t at = 0; at < units.size(); ++at) {
    while (gathered.size() < std::min(at + 2, units.size())) {
      std::vector<OpId> before = before_gather(first, begun + std::ssize(gathered));
      gathered.push_back(divided_.gather_unit(first, units[gathered.size()], std::move(before), action.microbatch));
    }
    const std::size_t completed = is_forward ? 0 : passes.front().steps->completes.size();
    const std::int64_t number = begun + static_cast<std::int64_t>(at);
    for (Pass& pass : passes) append_unit(pass, units[at], number, gathered[at]);
    reduce_after_unit(passes, completed);
  }
  for (Pass& pass : passes) {
    AppendedPass& appended = appended_[pass.task.replica].emplace(AppendedPass{pass.last, {}});
    if (pass.steps) appended.completes = std::move(pass.steps->completes);
  }
}

/// Appends the computations of a unit of one replica's pass, which wait for the weights.
void JointPasses::append_unit(Pass& pass, const GatherUnit& unit, std::int64_t number, OpId weights) {
  if (pass.steps) {
    for (std::size_t at = unit.first_step; at < unit.end_step; ++at) {
      writer_.append_step(pass.task, *pass.steps, at, at == unit.first_step ? weights : OpId::none());
    }
    pass.last = pass.steps->last;
  } else {
    pass.last = writer_.append_part(pass.task, pass.forward, unit.first_bucket, weights, pass.after);
    const bool is_last = unit.end_bucket == divided_.buckets(pass.task.replica);
    if (is_last) pass.last = writer_.append_exchange(pass.task, pass.exchange, pass.last);
  }
  std::array<Unit, 2>& units = units_[pass.task.replica];
  units = {units[1], {number, pass.last}};
}

/// Appends the reduce-scatters of the gradients that the last unit of whole backwards has completed: all but the first
/// `before`.
void JointPasses::reduce_after_unit(const std::vector<Pass>& passes, std::size_t before) {
  const PassTask& first = passes.front().task;
  if (first.action.kind != ActionKind::Backward) return;
  for (std::size_t k = before; k < passes.front().steps->completes.size(); ++k) {
    std::vector<OpId> completes;
    for (const Pass& pass : passes) completes.push_back(pass.steps->completes[k]);
    divided_.reduce_bucket(first.replica, k, std::move(completes), first.action.microbatch);
  }
}

/// What the gather for a unit of the replica's ring waits for: the unit before the last one and all before that, also
/// of replicas that take no part in it.
std::vector<OpId> JointPasses::before_gather(ReplicaId replica, std::int64_t number) const {
  std::vector<OpId> before;
  for (const ReplicaId sharer : divided_.sharers(replica)) {
    const auto& [earlier, last] = units_[sharer];
    const OpId unit = last.number <= number - 2 ? last.end : earlier.end;
    if (!unit.is_none()) before.push_back(unit);
  }
  if (const OpId barrier = divided_.barrier_for(replica); !barrier.is_none()) before.push_back(barrier);
  return before;
}

OpId JointPasses::oldest() const {
  OpId oldest = OpId::none();
  const auto hold = [&](OpId op) { oldest = std::min(oldest, op); };
  for (const auto& [earlier, last] : units_) {
    hold(earlier.end);
    hold(last.end);
  }
  for (const auto& [number, passes] : arrived_) {
    for (const Arrived& pass : passes) hold(pass.after);
  }
  for (const auto& appended : appended_) {
    if (!appended) continue;
    hold(appended->end);
    std::ranges::for_each(appended->completes, hold);
  }
  return oldest;
}

}  // namespace stagecraft
