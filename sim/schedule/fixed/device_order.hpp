#pragma once

#include "sim/schedule/schedule_family.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace stagecraft {

[[nodiscard]] Action action_of(ActionKind kind, std::int64_t stage, std::int64_t microbatch);

/// The order of one device, written from its first action to its last.
class DeviceOrderWriter {
 public:
  void forward(std::int64_t stage, std::int64_t microbatch);
  void backward(std::int64_t stage, std::int64_t microbatch);
  /// The input half of a backward. Its weight half is then pending.
  void input(std::int64_t stage, std::int64_t microbatch);
  /// Makes the last two actions, a forward and a backward, one operation.
  void join() { actions_.back().joined = true; }
  /// Of the weight halves that are pending, the first one or the last one.
  void oldest_weight();
  void newest_weight();
  [[nodiscard]] bool has_pending() const { return !pending_.empty(); }
  [[nodiscard]] std::vector<Action> take() { return std::move(actions_); }

 private:
  std::vector<Action> actions_;
  std::deque<Action> pending_;
};

}  // namespace stagecraft
