#pragma once

#include "sim/engine/clock.hpp"
#include "sim/engine/operation_store.hpp"
#include "sim/engine/outages.hpp"
#include "sim/engine/resources.hpp"
#include "sim/engine/wakes.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Chooses which operation starts next.
///
/// An operation that needs at most one strict lane starts as soon as it is ready and at the front of that lane; no
/// other operation can take the lane from it. All other operations compete: the least (priority, time it became ready,
/// number) goes first. An operation that is held up by a resource is considered again when the resource becomes free.
///
/// The dispatcher only chooses: the caller must start the operation before it asks again.
class Dispatcher {
 public:
  /// All must outlive the dispatcher.
  Dispatcher(OperationStore& operations, Resources& resources, Outages& outages, Wakes& wakes, const Clock& clock)
      : operations_(operations), resources_(resources), outages_(outages), wakes_(wakes), clock_(clock) {}

  /// The list to which operations are appended when their dependencies have ended.
  [[nodiscard]] std::vector<std::uint64_t>& ready() { return ready_; }
  /// An operation that had started is ready again.
  void return_to(std::uint64_t op) { returned_.push_back(op); }
  /// No operation holds the resource any more.
  void release(Resource& resource) {
    resource.busy = false;
    note_freed(resource);
  }
  /// The resource may have become free.
  void note_freed(Resource& resource) { freed_.push_back(&resource); }

  /// The next operation to start now; none if no more can start at this instant.
  [[nodiscard]] std::optional<std::uint64_t> next();
  /// Whether the operation can start at once. If not, it has been entered where it will be considered again.
  [[nodiscard]] bool consider(std::uint64_t op);
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
  /// Forgets all operations. **Requires** that `next` has found none.
  void abandon();

 private:
  [[nodiscard]] std::optional<std::uint64_t> next_returned();
  void become_ready(Operation& what, std::uint64_t op);
  [[nodiscard]] std::optional<std::uint64_t> next_of(Resource& resource);
  void enter_contest(Resource& resource);
  [[nodiscard]] bool wins(std::uint64_t op);

  OperationStore& operations_;
  Resources& resources_;
  Outages& outages_;
  Wakes& wakes_;
  const Clock& clock_;
  std::vector<std::uint64_t> ready_;     ///< operations whose dependencies have just ended
  std::vector<std::uint64_t> returned_;  ///< aborted operations that are to start again
  std::vector<Resource*> freed_;         ///< resources that may have become free
  std::size_t next_ready_ = 0;           ///< in `ready_`: all before it have been considered
  std::size_t next_freed_ = 0;           ///< in `freed_`, likewise
  Claims contest_;                       ///< operations that compete; the least is tried first
};

}  // namespace stagecraft
