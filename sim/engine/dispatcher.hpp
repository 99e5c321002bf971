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

/// Says which operation starts next. An operation that needs at most one strict lane starts as soon as it is ready and
/// at the front of that lane; nobody else can take the lane from it. All others compete: the least (priority, time it
/// became ready, number) goes first, and what is held up by a resource is considered again when that becomes free.
///
/// It only says so: whoever asks must start the operation before asking again.
class Dispatcher {
 public:
  /// All must outlive the dispatcher.
  Dispatcher(OperationStore& operations, Resources& resources, Outages& outages, Wakes& wakes, const Clock& clock)
      : operations_(operations), resources_(resources), outages_(outages), wakes_(wakes), clock_(clock) {}

  /// To be extended by operations whose dependencies have ended.
  [[nodiscard]] std::vector<std::uint64_t>& ready() { return ready_; }
  /// An operation that had started is ready again.
  void return_to(std::uint64_t op) { returned_.push_back(op); }
  /// Nobody holds the resource any more.
  void release(Resource& resource) {
    resource.busy = false;
    offer(resource);
  }
  /// The resource may have become free.
  void offer(Resource& resource) { freed_.push_back(&resource); }

  /// The next operation to start now; none if nothing more can.
  [[nodiscard]] std::optional<std::uint64_t> next();
  /// Whether the operation can start at once. If not, it has its place among those that wait.
  [[nodiscard]] bool consider(std::uint64_t op);
  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }

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
  std::vector<std::uint64_t> ready_;     ///< waited for dependencies until now
  std::vector<std::uint64_t> returned_;  ///< were aborted
  std::vector<Resource*> freed_;
  std::size_t next_ready_ = 0;  ///< positions in these lists: those before have been considered
  std::size_t next_freed_ = 0;
  Claims contest_;  ///< of those that may have all they need, the least is the next
};

}  // namespace stagecraft
