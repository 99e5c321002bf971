#include "sim/engine/dispatcher.hpp"

#include <algorithm>

namespace stagecraft {

// Works in rounds: first all operations that have become ready, then all resources that have become free, then one
// operation of the contest. A winner is chosen only when no further operation can enter the contest.
std::optional<std::uint64_t> Dispatcher::next() {
  while (true) {
    while (next_ready_ < ready_.size()) {
      const std::uint64_t op = ready_[next_ready_++];
      become_ready(operations_[op], op);
      if (consider(op)) return op;
    }
    ready_.clear();
    next_ready_ = 0;
    if (!returned_.empty() && next_freed_ == 0) {  // operations that are returned later wait for the next round
      if (const auto op = next_returned()) return op;
    }
    while (next_freed_ < freed_.size()) {
      if (const auto op = next_of(*freed_[next_freed_++])) return op;
    }
    freed_.clear();
    next_freed_ = 0;
    if (!contest_.empty()) {
      const std::uint64_t op = contest_.top().op;
      contest_.pop();
      if (wins(op)) return op;
    } else if (returned_.empty()) {
      return std::nullopt;
    }
  }
}

void Dispatcher::abandon() {
  ready_.clear();
  returned_.clear();
  freed_.clear();
  contest_ = {};
}

inline void Dispatcher::become_ready(Operation& what, std::uint64_t op) {
  what.state = Operation::State::Ready;
  what.ready_at = std::max(clock_.now(), what.op.not_before);
  if (what.op.not_before > clock_.now()) wakes_.put_off({Wake::Kind::NotBefore, op}, what.op.not_before);
}

std::optional<std::uint64_t> Dispatcher::next_returned() {
  while (!returned_.empty()) {
    const std::uint64_t op = returned_.front();
    returned_.erase(returned_.begin());
    if (consider(op)) return op;
  }
  return std::nullopt;
}

/// Finds the next operation of a free resource. The front of a strict lane may start at once; on a ready lane or a link
/// the least waiter enters the contest.
std::optional<std::uint64_t> Dispatcher::next_of(Resource& resource) {
  if (!resource.is_free()) return std::nullopt;
  if (resource.discipline == Discipline::Ready) {
    enter_contest(resource);
  } else if (!resource.queue.empty() && consider(resource.queue.front())) {
    return resource.queue.front();
  }
  return std::nullopt;
}

/// Lets the least operation that the resource has held up compete again.
void Dispatcher::enter_contest(Resource& resource) {
  Claims& waiters = resource.waiters;
  while (!waiters.empty() && !operations_.is_in_state(waiters.top().op, Operation::State::Ready)) waiters.pop();
  if (waiters.empty()) return;
  contest_.push(waiters.top());
  waiters.pop();
}

bool Dispatcher::consider(std::uint64_t op) {
  const Operation& what = operations_[op];
  if (what.state != Operation::State::Ready || what.op.not_before > clock_.now()) return false;
  const Resource* lane = what.op.lane.is_none() ? nullptr : &resources_.lane(what.op.lane);
  if (!what.simple || (lane != nullptr && lane->discipline == Discipline::Ready)) {
    contest_.push({what.op.priority, what.ready_at, op});
    return false;
  }
  if (lane != nullptr && (!lane->is_free() || lane->queue.front() != op)) return false;
  return !outages_.hold(op, what.op);
}

/// Whether the operation, the least of the contest, gets all resources that it needs. If not, it waits at a resource
/// that holds it up.
bool Dispatcher::wins(std::uint64_t op) {
  if (!operations_.is_in_state(op, Operation::State::Ready)) return false;
  const Operation& what = operations_[op];
  const auto needed = resources_.of(op, what.op);
  const bool is_behind_others = std::ranges::any_of(needed, [op](const Resource* resource) {
    return resource->discipline == Discipline::Strict && resource->queue.front() != op;
  });
  Resource* held_up_by = nullptr;
  for (Resource* resource : needed) {
    if (!resource->is_free()) held_up_by = resource;
  }
  if (!is_behind_others && held_up_by == nullptr && !outages_.hold(op, what.op)) return true;
  // An operation that is behind others on a strict lane, or held up by a busy strict lane, is considered again when it
  // is at the front of that lane (`next_of`). Otherwise it waits at the resource that holds it up.
  if (!is_behind_others && held_up_by != nullptr && held_up_by->discipline == Discipline::Ready) {
    held_up_by->waiters.push({what.op.priority, what.ready_at, op});
  }
  for (Resource* resource : needed) {  // a free resource that it does not take may serve the next waiter
    if (resource->is_free() && resource->discipline == Discipline::Ready) enter_contest(*resource);
  }
  return false;
}

}  // namespace stagecraft
