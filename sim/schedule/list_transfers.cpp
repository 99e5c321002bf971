#include "sim/schedule/list_transfers.hpp"

#include "sim/base/error.hpp"
#include "sim/model/given_orders.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/fixed/device_order.hpp"
#include "sim/schedule/transfer_ends.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// A computation whose result others wait for: the forward of a stage's microbatch, or its backward or input half.
struct Result {
  StageId stage;
  std::uint32_t microbatch = 0;
  bool gradient = false;
  friend auto operator<=>(const Result&, const Result&) = default;
};

Action send_of(const Result& result) {
  const ActionKind kind = result.gradient ? ActionKind::SendGradient : ActionKind::SendActivation;
  return action_of(kind, result.stage.value(), result.microbatch);
}

/// The receive of what the result is computed from.
Action receive_for(const Result& result) {
  const ActionKind kind = result.gradient ? ActionKind::ReceiveGradient : ActionKind::ReceiveActivation;
  return action_of(kind, result.stage.value(), result.microbatch);
}

bool gives_result(ActionKind kind) { return kind != ActionKind::BackwardWeight; }

Result result_of(const Action& action) { return {action.stage, action.microbatch, is_backward(action.kind)}; }

constexpr std::size_t kActiveStages = 3;

/// The turns that PyTorch spends on the parameters of stages, by action: those before it. A device has gathered the
/// parameters of the next three stages of its order: it drops those of others, one in a turn, and gathers what is
/// missing. After the last computation of a stage it takes a turn to reduce the stage's gradients.
std::vector<std::size_t> parameter_turns(const std::vector<Action>& actions) {
  std::map<StageId, std::size_t> last;  // computation of a stage
  for (std::size_t i = 0; i < actions.size(); ++i) last[actions[i].stage] = i;
  std::vector<std::size_t> turns(actions.size());
  std::size_t reductions = 0;
  std::vector<StageId> active;
  std::vector<StageId> next;  // stages from an action on, the first three
  std::vector<std::vector<StageId>> next_of(actions.size());
  for (std::size_t i = actions.size(); i-- > 0;) {
    std::erase(next, actions[i].stage);
    next.insert(next.begin(), actions[i].stage);
    if (next.size() > kActiveStages) next.pop_back();
    next_of[i] = next;
  }
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (i > 0 && last.at(actions[i - 1].stage) == i - 1) ++reductions;
    if (actions[i].joined) continue;
    turns[i] = std::exchange(reductions, 0);
    turns[i] += std::erase_if(active, [&](StageId stage) { return std::ranges::count(next_of[i], stage) == 0; });
    for (const StageId stage : next_of[i]) {
      if (std::ranges::count(active, stage) > 0) continue;
      active.push_back(stage);
      ++turns[i];
    }
  }
  return turns;
}

class TransferLister {
 public:
  TransferLister(const LayerGraph& graph, const Plan& plan, const Schedule& schedule)
      : replicas_(plan),
        ends_(boundaries(graph, plan), replicas_),
        schedule_(schedule),
        listed_(schedule.devices.size()),
        next_(schedule.devices.size()) {
    for (std::size_t i = 0; i < schedule.devices.size(); ++i) {
      positions_[schedule.devices[i].device] = i;
      pauses_.push_back(parameter_turns(schedule.devices[i].actions));
    }
  }

  [[nodiscard]] std::vector<std::vector<Action>> listed() {
    const std::vector<std::size_t> turns = turns_of_devices();
    const auto is_left = [&](std::size_t device) { return next_[device] < schedule_.devices[device].actions.size(); };
    while (std::ranges::any_of(turns, is_left)) {
      bool any = false;
      for (const std::size_t device : turns) any = (is_left(device) && take_turn(device)) || any;
      if (!any) throw InputError("computations of the orders wait for each other in a circle");
    }
    return std::move(listed_);
  }

 private:
  /// The devices by their first stages.
  [[nodiscard]] std::vector<std::size_t> turns_of_devices() const {
    std::vector<std::size_t> turns(schedule_.devices.size());
    std::iota(turns.begin(), turns.end(), std::size_t{0});
    const auto first_stage = [&](std::size_t i) {
      const std::vector<Action>& actions = schedule_.devices[i].actions;
      return actions.empty() ? StageId::none() : std::ranges::min(actions, {}, &Action::stage).stage;
    };
    std::ranges::stable_sort(turns, {}, first_stage);
    return turns;
  }

  [[nodiscard]] bool has_inputs(const Result& result) const {
    return std::ranges::all_of(ends_.all(receive_for(result)), [&](const BoundaryEnd& end) {
      return made_.contains({end.peer, result.microbatch, result.gradient});
    });
  }

  /// Places the device's next computation, or pair of them, if what it needs is placed. Returns whether it did, or had
  /// something to do for parameters.
  bool take_turn(std::size_t device) {
    const std::vector<Action>& actions = schedule_.devices[device].actions;
    const std::size_t begin = next_[device];
    if (pauses_[device][begin] > 0) {
      --pauses_[device][begin];
      return true;
    }
    std::size_t end = begin + 1;
    while (end < actions.size() && actions[end].joined) ++end;
    for (std::size_t i = begin; i < end; ++i) {
      if (gives_result(actions[i].kind) && !has_inputs(result_of(actions[i]))) return false;
    }
    const auto first = actions.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = actions.begin() + static_cast<std::ptrdiff_t>(end);
    listed_[device].insert(listed_[device].end(), first, last);
    std::vector<Result> results;
    for (auto action = first; action != last; ++action) {
      if (gives_result(action->kind)) results.push_back(result_of(*action));
    }
    std::ranges::sort(results, {}, &Result::gradient);  // the activation of a pair leaves first
    for (const Result& result : results) send(result);
    next_[device] = end;
    return true;
  }

  /// Once the last of the tensors that a stage takes is on its way, one receive is for those of other devices.
  void send(const Result& result) {
    made_.insert(result);
    list(send_of(result));
    for (const BoundaryEnd& end : ends_.all(send_of(result))) {
      const Result next{end.peer, result.microbatch, result.gradient};
      if (has_inputs(next)) list(receive_for(next));
    }
  }

  void list(const Action& mark) {
    if (ends_.of(mark).empty()) return;
    const ReplicaId runner = replicas_.runners(mark.stage, mark.microbatch).front();
    listed_[positions_.at(replicas_[runner].device)].push_back(mark);
  }

  Replicas replicas_;
  TransferEnds ends_;
  const Schedule& schedule_;
  std::vector<std::vector<Action>> listed_;
  std::vector<std::size_t> next_;                 ///< by device: its first action that is not placed
  std::vector<std::vector<std::size_t>> pauses_;  ///< by device, by action: turns that are left before it
  std::map<DeviceId, std::size_t> positions_;
  std::set<Result> made_;
};

void refuse_to_list(const Plan& plan, const Schedule& schedule, Transfers rule) {
  const std::string transfers = std::string(to_string(rule)) + " transfers";
  if (std::ranges::any_of(plan.stages, divides_microbatches)) {
    throw InputError(transfers + " are not possible with stages that divide their microbatches");
  }
  if (!schedule.channels.empty()) throw InputError(transfers + " are not possible with orders of channels");
  if (std::ranges::count(schedule.devices, Discipline::Ready, &DeviceOrder::discipline) > 0) {
    throw InputError(transfers + " are not possible where devices work by priorities");
  }
}

}  // namespace

Schedule with_transfers(const LayerGraph& graph, const Plan& plan, Schedule schedule, Transfers rule) {
  schedule.transfers = rule;
  if (!lists_transfers(rule)) {
    for (DeviceOrder& order : schedule.devices) {
      std::erase_if(order.actions, [](const Action& action) { return is_mark(action.kind); });
    }
  } else if (!has_marks(schedule)) {
    refuse_to_list(plan, schedule, rule);
    std::vector<std::vector<Action>> listed = TransferLister(graph, plan, schedule).listed();
    for (std::size_t i = 0; i < listed.size(); ++i) schedule.devices[i].actions = std::move(listed[i]);
  }
  return schedule;
}

}  // namespace stagecraft
