#include "sim/engine/operation_store.hpp"

#include "sim/base/error.hpp"

#include <algorithm>

namespace stagecraft {
namespace {

bool belongs_to_microbatch(OpKind kind) {
  switch (kind) {
    case OpKind::Forward:
    case OpKind::Backward:
    case OpKind::BackwardInput:
    case OpKind::BackwardWeight:
    case OpKind::ForwardBackward:
    case OpKind::AllReduce:
    case OpKind::ReduceScatter:
    case OpKind::AllGather:
    case OpKind::CollectiveEnd:
    case OpKind::Save:
    case OpKind::Barrier: return true;
    default: return false;
  }
}

}  // namespace

OperationStore::OperationStore() {
  edges_.push_back({});  // position 0 means the end of a list
}

void OperationStore::expect(const OpGraph& window) {
  STAGECRAFT_CHECK(window.first_id.value() == operations_.end(), "windows are numbered without gaps");
  operations_.reserve(window.ops.size());
  edges_.reserve(window.dependencies.size());
  deltas_.reserve(window.deltas.size());
}

std::uint64_t OperationStore::append(const OpGraph& window, std::size_t index) {
  const std::uint64_t op = operations_.end();
  Operation& what = operations_.extend();
  what = Operation{};
  what.op = window.ops[index];
  for (OpId earlier : window.before_start(index)) {
    STAGECRAFT_CHECK(earlier.value() < op, "an operation depends on earlier ones only");
    if (!holds(earlier.value())) continue;
    Operation& dependency = operations_[earlier.value()];
    if (dependency.state == Operation::State::Done) {
      note_cause(what, dependency, earlier.value());
      continue;
    }
    dependency.successors = edges_.push_back({op, dependency.successors});
    ++what.missing;
  }
  what.edges = what.missing;
  for (const MemoryDelta& delta : window.deltas_of(index)) deltas_.push_back(delta);
  what.delta_end = deltas_.end();
  ++unfinished_;
  return op;
}

std::optional<std::uint32_t> OperationStore::least_unfinished() const {
  std::optional<std::uint32_t> least;
  for (std::uint64_t op = operations_.begin(); op < operations_.end(); ++op) {
    const Operation& what = operations_[op];
    if (what.state == Operation::State::Done || !belongs_to_microbatch(what.op.kind)) continue;
    least = std::min(least.value_or(what.op.microbatch), what.op.microbatch);
  }
  return least;
}

std::vector<PlaceId> OperationStore::givers() const {
  std::vector<PlaceId> places;
  for (std::uint64_t op = operations_.begin(); op < operations_.end(); ++op) {
    const Operation& what = operations_[op];
    if (what.op.kind == OpKind::Migration && what.state != Operation::State::Done) places.push_back(what.op.from);
  }
  return places;
}

void OperationStore::abandon() {
  for (std::uint64_t op = operations_.begin(); op < operations_.end(); ++op) operations_[op].reported = true;
  unfinished_ = 0;
  forget_reported();
}

std::span<const MemoryDelta> OperationStore::joined(std::uint64_t begin, std::uint64_t end) {
  joined_.clear();
  for (std::uint64_t i = begin; i < end; ++i) joined_.push_back(deltas_[i]);
  return joined_;
}

// Edges are appended together with the operation that waits, so the edges of the oldest operations are the oldest
// edges.
void OperationStore::forget_reported() {
  std::uint64_t oldest = operations_.begin();
  for (; oldest < operations_.end() && operations_[oldest].reported; ++oldest) {
    edges_.drop_before(edges_.begin() + operations_[oldest].edges);
    deltas_.drop_before(operations_[oldest].delta_end);
  }
  operations_.drop_before(oldest);
}

}  // namespace stagecraft
