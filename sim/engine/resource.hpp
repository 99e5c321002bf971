#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace stagecraft {

/// An operation that competes for resources; the least claim goes first.
struct Claim {
  std::int32_t priority = 0;
  Seconds ready_at;
  std::uint64_t op = 0;
  friend auto operator<=>(const Claim&, const Claim&) = default;
};
using Claims = std::priority_queue<Claim, std::vector<Claim>, std::greater<>>;

/// Something that one operation at a time may hold: a lane, or an exclusive link.
struct Resource {
  Discipline discipline = Discipline::Ready;
  DeviceId device;          ///< none unless it is a device's lane
  bool connection = false;  ///< `Lane::connection`
  bool busy = false;
  bool down = false;                ///< its device has failed
  bool closed = false;              ///< no later window adds to it
  std::uint64_t unstarted = 0;      ///< operations that have joined it and have not started
  std::deque<std::uint64_t> queue;  ///< strict: its unstarted operations in their order
  Claims waiters;                   ///< ready: operations that were found to be held up by this resource

  /// All operations are given up.
  void abandon() {
    busy = false;
    unstarted = 0;
    queue.clear();
    waiters = {};
  }

  [[nodiscard]] bool is_free() const { return !busy && !down; }
  /// Whether the executor must look ahead for it: a device's lane that is not closed.
  [[nodiscard]] bool is_open() const { return !device.is_none() && !closed; }
};

}  // namespace stagecraft
