#pragma once

#include "sim/engine/ring.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/timeline.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft {

/// An operation from the moment its window is loaded.
struct Operation {
  enum class State : std::uint8_t { Waiting, Ready, Running, Done };

  Op op;
  State state = State::Waiting;
  bool reported = false;  ///< its span has been handed to the sink
  bool simple = true;     ///< holds at most one lane, and no exclusive link
  OpKind cause =
      OpKind::Setup;          ///< kind of the dependency that ended last; `cause_op`, … are its number, start and end
  std::uint32_t missing = 0;  ///< dependencies that have not ended
  std::uint32_t generation = 0;  ///< of its present start; completions of another generation are ignored
  std::uint32_t edges = 0;       ///< number of dependencies that had not ended when it was loaded
  std::uint64_t successors = 0;  ///< head of a list of edges; 0 ends it
  std::uint64_t delta_end = 0;
  Seconds ready_at;
  Seconds start;
  Seconds end;
  std::uint64_t cause_op = 0;
  Seconds cause_start;
  Seconds cause_end;
};

/// The operations of the windows loaded so far, with their dependencies and memory changes. An operation is forgotten
/// when it and all older ones have been reported.
class OperationStore {
 public:
  OperationStore();

  /// Makes room for a whole window at once. **Requires** that it is the next one.
  void expect(const OpGraph& window);
  /// Appends the operation at `index` of the window; its number follows on the last one's.
  std::uint64_t append(const OpGraph& window, std::size_t index);

  [[nodiscard]] Operation& operator[](std::uint64_t op) { return operations_[op]; }
  [[nodiscard]] const Operation& operator[](std::uint64_t op) const { return operations_[op]; }
  /// Whether the operation has not been forgotten. **Requires** one that has been appended.
  [[nodiscard]] bool holds(std::uint64_t op) const { return op >= operations_.begin(); }
  [[nodiscard]] bool is_in_state(std::uint64_t op, Operation::State state) const {
    return holds(op) && operations_[op].state == state;
  }
  /// Whether the operation has ended. **Requires** one that has been appended.
  [[nodiscard]] bool has_ended(std::uint64_t op) const {
    return !holds(op) || operations_[op].state == Operation::State::Done;
  }
  [[nodiscard]] std::uint64_t unfinished() const { return unfinished_; }

  /// The operation ends at `at`; those that waited for nothing else are appended to `ready`.
  void complete(std::uint64_t op, Seconds at, std::vector<std::uint64_t>& ready) {
    Operation& ended = operations_[op];
    ended.state = Operation::State::Done;
    ended.end = at;
    --unfinished_;
    for (std::uint64_t edge = ended.successors; edge != 0; edge = edges_[edge].next) {
      const std::uint64_t next = edges_[edge].successor;
      Operation& successor = operations_[next];
      note_cause(successor, ended, op);
      if (--successor.missing == 0) ready.push_back(next);
    }
  }
  /// The least microbatch with a pass, a reduction of its gradients or an end of its iteration that has not ended.
  [[nodiscard]] std::optional<std::uint32_t> least_unfinished() const;
  /// The devices from which state is still to be copied, each once for each copy.
  [[nodiscard]] std::vector<PlaceId> givers() const;
  /// Forgets all operations. **Requires** that those that have started have been reported.
  void abandon();
  /// The span of the present start, as if it ended at `end`.
  [[nodiscard]] Span span_of(std::uint64_t op, Seconds end, bool aborted) const {
    const Operation& what = operations_[op];
    return {OpId(op), what.start, end, what.cause_start, what.cause_end, what.cause, aborted};
  }
  /// The memory changes of the operation; valid until the next call.
  [[nodiscard]] std::span<const MemoryDelta> deltas_of(std::uint64_t op) {
    const std::uint64_t begin = op == operations_.begin() ? deltas_.begin() : operations_[op - 1].delta_end;
    const std::uint64_t end = operations_[op].delta_end;
    if (begin == end) return {};
    const MemoryDelta* run = deltas_.run(begin, end);
    return run != nullptr ? std::span(run, end - begin) : joined(begin, end);
  }
  /// Forgets the oldest operations as far as they have been reported.
  void forget_reported();

 private:
  [[nodiscard]] std::span<const MemoryDelta> joined(std::uint64_t begin, std::uint64_t end);
  struct Edge {
    std::uint64_t successor = 0;
    std::uint64_t next = 0;
  };
  /// Notes a dependency that has ended as the cause if it ended last. Of dependencies that end at the same instant the
  /// one with the largest number counts, in whatever order they are reported. A transfer of several legs starts with
  /// the first of them.
  static void note_cause(Operation& successor, const Operation& ended, std::uint64_t op) {
    if (ended.end < successor.cause_end || (ended.end == successor.cause_end && op < successor.cause_op)) return;
    successor.cause = ended.op.kind;
    successor.cause_op = op;
    successor.cause_start = is_continued(ended.op.leg) ? ended.cause_start : ended.start;
    successor.cause_end = ended.end;
  }

  Ring<Operation> operations_;
  Ring<Edge> edges_;  ///< of all operations, in the order in which these were appended
  Ring<MemoryDelta> deltas_;
  std::vector<MemoryDelta> joined_;  ///< deltas of one operation that lie apart in the ring
  std::uint64_t unfinished_ = 0;
};

}  // namespace stagecraft
