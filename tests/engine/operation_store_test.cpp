#include "sim/engine/operation_store.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace stagecraft;

namespace {

using State = Operation::State;
using Ops = std::vector<std::uint64_t>;

Op op_of(OpKind kind) {
  Op op;
  op.kind = kind;
  return op;
}

/// Appends all operations of the window; returns those that wait for nothing.
Ops load(OperationStore& store, const OpGraph& window) {
  store.expect(window);
  Ops ready;
  for (std::size_t i = 0; i < window.ops.size(); ++i) {
    const std::uint64_t op = store.append(window, i);
    if (store[op].missing == 0) ready.push_back(op);
  }
  return ready;
}

Ops complete(OperationStore& store, std::uint64_t op, double start, double end) {
  Ops ready;
  store[op].start = Seconds(start);
  store.complete(op, Seconds(end), ready);
  return ready;
}

}  // namespace

TEST_CASE("operation store: an operation becomes ready when the last of its dependencies ends") {
  OpGraph window;
  const OpId a = window.append(op_of(OpKind::Forward));
  const OpId b = window.append(op_of(OpKind::Activation));
  window.append(op_of(OpKind::Backward));
  window.depend_on(a);
  window.depend_on(b);
  OperationStore store;
  CHECK(load(store, window) == Ops{0, 1});
  CHECK(complete(store, 1, 0, 3).empty());
  CHECK(complete(store, 0, 1, 2) == Ops{2});
  CHECK(store.unfinished() == 1);
  CHECK(store.is_in_state(0, State::Done));
}

TEST_CASE("operation store: the cause is the dependency that ended last, and of several the youngest") {
  OpGraph window;
  for (int i = 0; i < 3; ++i) window.append(op_of(i == 1 ? OpKind::Gradient : OpKind::Forward));
  window.append(op_of(OpKind::Update));
  for (std::uint64_t i = 0; i < 3; ++i) window.depend_on(OpId(i));
  OperationStore store;
  load(store, window);
  complete(store, 1, 1, 4);
  complete(store, 0, 0, 4);  // reported later, but older
  complete(store, 2, 0, 2);
  const Span span = store.span_of(3, Seconds(9), true);
  CHECK(span.cause == OpKind::Gradient);
  CHECK(span.cause_start == Seconds(1));
  CHECK(span.cause_end == Seconds(4));
  CHECK(span.end == Seconds(9));
  CHECK(span.aborted);
}

TEST_CASE("operation store: an operation may depend on one of an earlier window, done or not, or forgotten") {
  OpGraph first;
  for (int i = 0; i < 3; ++i) first.append(op_of(OpKind::Forward));
  OperationStore store;
  load(store, first);
  complete(store, 0, 0, 1);
  complete(store, 1, 1, 2);
  store[0].reported = true;
  store.forget_reported();
  CHECK_FALSE(store.holds(0));
  CHECK(store.holds(1));
  OpGraph second;
  second.first_id = OpId(3);
  second.append(op_of(OpKind::Backward));
  for (std::uint64_t i = 0; i < 3; ++i) second.depend_on(OpId(i));
  CHECK(load(store, second).empty());
  CHECK(store[3].missing == 1);
  CHECK(store[3].cause_end == Seconds(2));
  CHECK(complete(store, 2, 0, 5) == Ops{3});
}

TEST_CASE("operation store: memory changes are those of the operation, wherever they lie in the store") {
  OperationStore store;
  for (std::uint64_t first = 0; first < 300; first += 3) {  // three deltas an operation: some wrap around
    OpGraph window;
    window.first_id = OpId(first);
    for (std::uint64_t i = first; i < first + 3; ++i) {
      window.append(op_of(OpKind::Forward));
      const auto bytes = static_cast<std::int64_t>(10 * i + 1);
      for (std::int64_t k = 0; k < 3; ++k) window.take(PlaceId(0), MemoryCategory::Stash, Bytes(bytes + k));
    }
    load(store, window);
    for (std::uint64_t i = first; i < first + 3; ++i) {
      const auto deltas = store.deltas_of(i);
      REQUIRE(deltas.size() == 3);
      for (std::size_t k = 0; k < 3; ++k) CHECK(deltas[k].bytes == Bytes(static_cast<std::int64_t>(10 * i + 1 + k)));
      complete(store, i, 0, 1);
      store[i].reported = true;
      store.forget_reported();
    }
  }
  CHECK(store.unfinished() == 0);
}
