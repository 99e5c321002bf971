#include "sim/engine/span_log.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace stagecraft::span_log_test {

using namespace stagecraft::hand_made;

namespace {

/// A log over some operations that a test starts and ends by hand.
struct Run {
  explicit Run(const OpGraph& graph, Platform on = platform()) : where(std::move(on)), resources(where) {
    for (const Lane& lane : graph.new_lanes) resources.add_lane(lane, false);
    operations.expect(graph);
    std::span<const LaneId> extra = graph.extra_lanes;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      operations.append(graph, i);
      resources.join(i, graph.ops[i], extra.first(graph.ops[i].extra_lanes));
      extra = extra.subspan(graph.ops[i].extra_lanes);
    }
  }
  void start(std::uint64_t op, double at) {
    operations[op].state = Operation::State::Running;
    operations[op].start = Seconds(at);
    log.start(op);
  }
  void end(std::uint64_t op, double at) {
    std::vector<std::uint64_t> ready;
    operations.complete(op, Seconds(at), ready);
    log.flush();
  }

  Platform where;
  OperationStore operations;
  Resources resources;
  std::string seen;
  SpanLog log{where, operations, resources, [this](const Span& span, const Op& op, auto deltas) {
                seen += number(static_cast<double>(span.id.value())) + "@" +
                        number(static_cast<double>(op.from.value())) + " " + number(span.start.value()) + "-" +
                        number(span.end.value()) + (span.aborted ? "!" : "") + std::string(deltas.size(), '*') + " ";
              }};
};

Op on_device(std::uint32_t device) {
  Op op;
  op.kind = OpKind::Forward;
  op.from = op.to = PlaceId(device);
  return op;
}

}  // namespace

TEST_CASE("span log: spans come in the order of the starts, whatever ends first") {
  OpGraph graph;
  for (std::uint32_t i = 0; i < 3; ++i) graph.append(on_device(0));
  Run run(graph);
  run.start(1, 0);
  run.start(0, 1);
  run.start(2, 1);
  run.end(0, 2);
  CHECK(run.seen.empty());
  run.end(1, 3);
  CHECK(run.seen == "1@0 0-3 0@0 1-2 ");
  CHECK_FALSE(run.operations.holds(1));
  run.end(2, 4);
  CHECK(run.seen == "1@0 0-3 0@0 1-2 2@0 1-4 ");
  CHECK(run.log.started().empty());
}

TEST_CASE("span log: an aborted start is a span of its own, before that of the next start") {
  OpGraph graph;
  graph.append(on_device(0));
  Run run(graph);
  run.start(0, 0);
  run.log.abort(0, Seconds(2));
  run.start(0, 5);
  run.log.flush();
  CHECK(run.seen == "0@0 0-2! ");
  run.end(0, 9);
  CHECK(run.seen == "0@0 0-2! 0@0 5-9 ");
}

TEST_CASE("span log: an operation on several devices comes once for each, its memory once") {
  OpGraph graph;
  graph.new_lanes = {{Discipline::Strict, DeviceId(0)}, {Discipline::Strict, DeviceId(1)}};
  Op update = on_device(0);
  update.lane = LaneId(0);
  graph.append(update);
  graph.occupy(LaneId(1));
  graph.take(PlaceId(0), MemoryCategory::Weights, Bytes(1));
  Run run(graph);
  run.start(0, 1);
  run.end(0, 2);
  CHECK(run.seen == "0@0 1-2* 0@1 1-2 ");
}

}  // namespace stagecraft::span_log_test
