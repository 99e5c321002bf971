#pragma once

#include "sim/model/schedule.hpp"
#include "sim/schedule/lowering/lowering_state.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace stagecraft {

class Delivery;

/// How far each device is in its order. A device with the strict discipline lowers its actions in their order and stops
/// at the first one that cannot be lowered yet. A device with the ready discipline lowers the first action that can be
/// lowered, so its actions may leave the order out of sequence; which of them runs first is the engine's choice.
class Orders {
 public:
  /// `state` must outlive it.
  explicit Orders(LoweringState& state);

  /// Appends the devices' next actions to what they have left.
  void take(const Schedule& schedule);
  /// Drops all actions of microbatches from `end` on, now and of what is taken later.
  void stop_at(std::int64_t end);

  /// Lets each device lower at most one action. Returns whether any device did. `lower` is given a device and a
  /// position in its actions, and returns whether that action could be lowered. Joined actions are lowered with the
  /// first of them.
  ///
  /// Rounds of one action for each device keep all devices at about the same point of the run, so that a window holds
  /// operations that run at about the same time. Devices are visited in the order of their first replicas, so earlier
  /// turns get smaller operation numbers, which decide between transfers that are ready at the same time.
  template <class Lower>
  [[nodiscard]] bool run_round(const Lower& lower) {
    bool progressed = false;
    for (std::size_t device : visited_) progressed |= step(device, lower);
    return progressed;
  }

  [[nodiscard]] const std::vector<Action>& actions(std::size_t device) const { return devices_[device].actions; }
  /// The first action that is not lowered.
  [[nodiscard]] std::size_t cursor(std::size_t device) const { return devices_[device].cursor; }
  [[nodiscard]] bool has_any_left() const;
  [[nodiscard]] bool has_left(std::size_t device) const { return cursor(device) < actions(device).size(); }
  [[nodiscard]] bool is_lowered(std::size_t device, std::size_t position) const {
    return devices_[device].lowered[position] != 0;
  }
  /// Whether some device has so few actions left that its next backward may be in the next segment.
  [[nodiscard]] bool runs_low() const;
  /// The end of what is joined to the action at `position`.
  [[nodiscard]] std::size_t joined_end(std::size_t device, std::size_t position) const {
    const std::vector<Action>& all = actions(device);
    std::size_t end = position + 1;
    while (end < all.size() && all[end].joined) ++end;
    return end;
  }
  /// The position of the stage's first backward from `position` on, or the number of actions.
  [[nodiscard]] std::size_t next_backward(std::size_t device, std::size_t position, StageId stage) const;
  /// One more than the largest microbatch of any lowered action: it and all later ones can still go to another plan.
  [[nodiscard]] std::int64_t first_untouched() const { return first_untouched_; }
  /// The least microbatch of an action that is left.
  [[nodiscard]] std::optional<std::int64_t> least_left() const;
  /// **Throws** Deadlock, which says why no device can go on (`standstill`).
  [[noreturn]] void report_deadlock(const Delivery& delivery) const;

 private:
  struct Queue {
    std::vector<Action> actions;
    std::size_t cursor = 0;     ///< all actions before it have been lowered
    std::vector<char> lowered;  ///< by action; beyond the cursor only on devices with the ready discipline
  };
  /// Lets the device lower one action; whether it did.
  template <class Lower>
  bool step(std::size_t device, const Lower& lower) {
    const bool is_strict = !state_.lanes.is_ready(device);
    if (is_strict && state_.awaits_input(device)) return false;
    for (std::size_t i = cursor(device); i < actions(device).size(); ++i) {
      if (devices_[device].lowered[i] != 0 || actions(device)[i].joined) continue;
      const bool is_lowered = lower(device, i);
      if (is_lowered) note_lowered(device, i);
      if (is_lowered || is_strict) return is_lowered;
    }
    return false;
  }
  void note_lowered(std::size_t device, std::size_t position) {
    Queue& queue = devices_[device];
    std::fill(queue.lowered.begin() + static_cast<std::ptrdiff_t>(position),
              queue.lowered.begin() + static_cast<std::ptrdiff_t>(joined_end(device, position)), 1);
    while (queue.cursor < queue.lowered.size() && queue.lowered[queue.cursor] != 0) ++queue.cursor;
    first_untouched_ = std::max(first_untouched_, std::int64_t{queue.actions[position].microbatch} + 1);
  }

  LoweringState& state_;
  std::vector<Queue> devices_;
  std::vector<std::size_t> visited_;  ///< all devices, by their first replicas
  std::int64_t first_untouched_ = 0;
  std::int64_t end_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace stagecraft
