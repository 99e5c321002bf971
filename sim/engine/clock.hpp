#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/op_graph.hpp"

#include <cstdint>

namespace stagecraft {

/// One start of an operation. An operation that a failure aborts starts again with the next generation, so that a
/// completion of the aborted start is recognised and ignored.
struct Start {
  OpId op;
  std::uint32_t generation = 0;
};

/// The interface of an engine to the executor: how time passes, and how long transfers take. The engine answers by
/// calling `Executor::complete` and `Executor::wake`, but never from inside these functions.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  Clock(Clock&&) = delete;
  Clock& operator=(Clock&&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual Seconds now() const = 0;
  /// `Executor::complete(start)` at `at`, which is not in the past.
  virtual void complete_at(Start start, Seconds at) = 0;
  /// `Executor::wake(token)` at `at`.
  virtual void wake_at(std::uint64_t token, Seconds at) = 0;
  /// Sends `op.bytes` from `op.from` to `op.to`, two connected places; then `Executor::complete(start)`. Of the
  /// latency, what has passed while the transfer `waited` for its connection is over.
  virtual void start_transfer(Start start, const Op& op, Seconds waited) = 0;
  /// Stops a transfer under way; no completion of it follows.
  virtual void abort_transfer(Start start) = 0;
  virtual void set_bandwidth(LinkId link, BytesPerSecond bandwidth) = 0;
  /// The link is down from now on, or up again. While a link of its route is down, a transfer stands still: neither its
  /// latency passes nor a byte arrives. It then goes on from there.
  virtual void set_down(LinkId link, bool is_down) = 0;
};

}  // namespace stagecraft
