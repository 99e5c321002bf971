#include "sim/schedule/lowering/orders.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/lowering/deadlock.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

/// The next segment is asked for when a device has fewer actions left, so that a prefetch finds the next backward.
constexpr std::size_t kLookAhead = 8;

}  // namespace

Orders::Orders(LoweringState& state) : state_(state), devices_(state.lanes.size()) {
  for (const ReplicaId id : state.replicas().all()) {
    if (state.replicas()[id].chunk == 0) visited_.push_back(state.shape.device_index(id));
  }
}

void Orders::take(const Schedule& schedule) {
  for (const DeviceOrder& order : schedule.devices) {
    const std::size_t index = state_.shape.device_index(order.device);
    Queue& queue = devices_[index];
    const auto done = static_cast<std::ptrdiff_t>(queue.cursor);
    queue.actions.erase(queue.actions.begin(), queue.actions.begin() + done);
    queue.lowered.erase(queue.lowered.begin(), queue.lowered.begin() + done);
    queue.actions.reserve(queue.actions.size() + order.actions.size());
    for (const Action& action : order.actions) {
      if (action.microbatch < end_) queue.actions.push_back(action);
    }
    queue.lowered.resize(queue.actions.size());
    queue.cursor = 0;
  }
  state_.await_nothing();
}

void Orders::stop_at(std::int64_t end) {
  end_ = end;
  for (Queue& queue : devices_) {
    std::vector<Action> kept;
    std::vector<char> lowered;
    for (std::size_t i = queue.cursor; i < queue.actions.size(); ++i) {
      if (queue.actions[i].microbatch >= end) continue;
      kept.push_back(queue.actions[i]);
      lowered.push_back(queue.lowered[i]);
    }
    queue = {std::move(kept), 0, std::move(lowered)};
  }
  state_.await_nothing();
}

bool Orders::has_any_left() const {
  return std::ranges::any_of(devices_, [](const Queue& queue) { return queue.cursor < queue.actions.size(); });
}

std::optional<std::int64_t> Orders::least_left() const {
  std::optional<std::int64_t> least;
  for (const Queue& queue : devices_) {
    for (std::size_t i = queue.cursor; i < queue.actions.size(); ++i) {
      if (queue.lowered[i] != 0) continue;
      const std::int64_t microbatch = queue.actions[i].microbatch;
      least = std::min(least.value_or(microbatch), microbatch);
    }
  }
  return least;
}

bool Orders::runs_low() const {
  return std::ranges::any_of(devices_,
                             [](const Queue& queue) { return queue.actions.size() - queue.cursor < kLookAhead; });
}

std::size_t Orders::next_backward(std::size_t device, std::size_t position, StageId stage) const {
  const std::vector<Action>& all = actions(device);
  const auto is_next = [&](const Action& action) {
    return action.stage == stage && (action.kind == ActionKind::Backward || action.kind == ActionKind::BackwardInput);
  };
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(std::min(position, all.size()));
  return static_cast<std::size_t>(std::find_if(begin, all.end(), is_next) - all.begin());
}

void Orders::report_deadlock(const Delivery& delivery) const {
  std::string hint = "each of them waits for an action that comes later in the order of another device or channel";
  for (std::size_t device = 0; device < devices_.size(); ++device) {
    if (!delivery.waiting(device)) continue;
    hint =
        "a device sends and receives one after the other: write them in the order of the other device, or join those "
        "that may go side by side, such as 'SA0.1+RG0.0'";
  }
  if (state_.shape.plan().training.zero >= kMostDivided) {
    hint =
        "replicas that divide weights (zero 3) run their passes together, so they need turns of one size and orders "
        "of one kind; or zero 2";
  }
  Standstill found = standstill(state_, *this, delivery);
  throw Deadlock("the schedule deadlocks: " + found.text, hint, std::move(found.actions));
}

}  // namespace stagecraft
