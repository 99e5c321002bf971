#include "sim/engine/summary.hpp"

#include "tests/engine/hand_made.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <vector>

namespace stagecraft {
namespace {

using hand_made::platform;

Span span(std::uint64_t id, double start, double end, bool aborted = false) {
  Span result;
  result.id = OpId(id);
  result.start = Seconds(start);
  result.end = Seconds(end);
  result.aborted = aborted;
  return result;
}

Op op_on(OpKind kind, std::uint32_t device, StageId stage = StageId::none()) {
  Op op;
  op.kind = kind;
  op.from = op.to = PlaceId(device);
  op.stage = stage;
  return op;
}

/// Lanes for these devices.
OpGraph window_with(const std::vector<std::uint32_t>& devices) {
  OpGraph window;
  for (std::uint32_t device : devices) window.new_lanes.push_back({Discipline::Strict, DeviceId(device)});
  return window;
}

TEST_CASE("summary: an operation counts once, on however many devices, and not what a failure broke off") {
  const Platform two = platform();
  Summary summary(two, Measurement{}, true);
  summary.announce(window_with({0, 1}));
  summary.add(span(0, 0, 1, true), op_on(OpKind::Update, 0), {});
  summary.add(span(0, 1, 2), op_on(OpKind::Update, 0), {});
  summary.add(span(0, 1, 2), op_on(OpKind::Update, 1), {});
  summary.add(span(1, 2, 3), op_on(OpKind::Update, 1), {});
  summary.add(span(2, 3, 3), op_on(OpKind::Barrier, 0), {});
  CHECK(summary.finish().operations == 3);
}

// gpu2 runs stage 0 from 0 to 2; then gpu0 joins and runs stage 1 from 2 to 6.
TEST_CASE("summary: a device that gets work only later in the run is in the report, with its stages") {
  const Platform three = platform({.devices = 3});
  Summary summary(three, Measurement{}, true);
  OpGraph first = window_with({2});
  first.new_stages = {{{DeviceId(2)}}};
  summary.announce(first);
  summary.add(span(0, 0, 2), op_on(OpKind::Forward, 2, StageId(0)), {});
  summary.add(span(1, 2, 2), op_on(OpKind::Barrier, 0), {});
  OpGraph second = window_with({0});
  second.new_stages = {{{DeviceId(0), DeviceId(2)}}};
  summary.announce(second);
  summary.add(span(2, 2, 6), op_on(OpKind::Forward, 0, StageId(1)), {});
  summary.add(span(3, 4, 5), op_on(OpKind::Forward, 2, StageId(1)), {});
  summary.add(span(4, 6, 6), op_on(OpKind::Barrier, 0), {});
  const Report report = summary.finish();
  CHECK(report.iterations == std::vector<Seconds>{Seconds(2), Seconds(4)});
  REQUIRE(report.devices.size() == 2);  // by number, not in the order in which they joined
  CHECK(report.devices[0].device == DeviceId(0));
  CHECK(report.devices[0].stages == std::vector<StageId>{StageId(1)});
  CHECK(report.devices[0].busy == Seconds(4));
  CHECK(report.devices[1].device == DeviceId(2));
  CHECK(report.devices[1].stages == std::vector<StageId>{StageId(0), StageId(1)});
  CHECK(report.devices[1].busy == Seconds(1));
  CHECK(report.bubble_ratio == 1.0 - 5.0 / 8.0);
  REQUIRE(report.bottleneck.has_value());
  CHECK(report.bottleneck->stage == StageId(1));
}

// The transfer that a computation waited for counts as exposed from the start of the iteration on, also where the
// device joins in the midst of a run: 4 to 5 of the transfer's 3 to 5.
TEST_CASE("summary: a device that joins has idled since the last barrier, not since the start of the run") {
  const Platform two = platform();
  Summary summary(two, Measurement{}, true);
  summary.announce(window_with({0}));
  summary.add(span(0, 0, 4), op_on(OpKind::Update, 0), {});
  summary.add(span(1, 4, 4), op_on(OpKind::Barrier, 0), {});
  summary.announce(window_with({1}));
  Span late = span(2, 5, 7);
  late.cause = OpKind::Migration;
  late.cause_start = Seconds(3);
  late.cause_end = Seconds(5);
  summary.add(late, op_on(OpKind::Update, 1), {});
  summary.add(span(3, 7, 7), op_on(OpKind::Barrier, 0), {});
  CHECK(summary.finish().devices[1].time.exposed_communication == Seconds(1));
}

TEST_CASE("summary: migrations are listed, less those that a failure broke off") {
  const Platform two = platform();
  Summary summary(two, Measurement{}, true);
  summary.announce(window_with({0, 1}));
  Op move = op_on(OpKind::Migration, 0, StageId(3));
  move.to = PlaceId(1);
  move.bytes = Bytes(8);
  summary.add(span(0, 1, 2, true), move, {});
  summary.add(span(0, 3, 11), move, {});
  summary.add(span(1, 11, 11), op_on(OpKind::Barrier, 0), {});
  const Report report = summary.finish();
  CHECK(report.course.migrations ==
        std::vector<Migration>{{StageId(3), PlaceId(0), PlaceId(1), Bytes(8), Seconds(3), Seconds(11)}});
  CHECK(report.course.replans.empty());
}

/// The mark of another plan, with this stage.
Op mark(std::uint32_t microbatch, StageId stage) {
  Op op = op_on(OpKind::Setup, 0, stage);
  op.microbatch = microbatch;
  return op;
}

/// From `microbatch` on, stage 1 on these devices.
OpGraph change_of_plan(std::uint32_t microbatch, const std::vector<DeviceId>& devices) {
  ReplanQuestion question;
  question.first = microbatch;
  question.stages = {{{}, devices}};
  OpGraph window;
  for (DeviceId device : devices) window.new_lanes.push_back({Discipline::Strict, device});
  window.new_stages = {{devices}};
  window.questions = {question};
  return window;
}

// gpu0 and gpu1 run the first iteration, from 0 to 2. In the second, from 2 to 6, gpu0 is busy for 4; gpu2 is of its
// plan, but has nothing to do.
TEST_CASE("summary: the measured part leaves out an idle device that the plan at its end does not use") {
  const Platform three = platform({.devices = 3});
  Summary summary(three, Measurement{}, true);
  OpGraph first = window_with({0, 1});
  first.new_stages = {{{DeviceId(0), DeviceId(1)}}};
  summary.announce(first);
  summary.add(span(0, 0, 2), op_on(OpKind::Forward, 0, StageId(0)), {});
  summary.add(span(1, 0, 2), op_on(OpKind::Forward, 1, StageId(0)), {});
  summary.add(span(2, 2, 2), op_on(OpKind::Barrier, 0), {});
  summary.announce(change_of_plan(1, {DeviceId(0), DeviceId(2)}));
  summary.add(span(3, 2, 2), mark(1, StageId(1)), {});
  summary.add(span(4, 2, 6), op_on(OpKind::Forward, 0, StageId(1)), {});
  summary.add(span(5, 6, 6), op_on(OpKind::Barrier, 0), {});
  const Report report = summary.finish();
  REQUIRE(report.devices.size() == 3);
  CHECK(report.measured_devices() == 2);
  CHECK(report.devices[0].bubble_ratio == 0.0);
  CHECK_FALSE(report.devices[1].is_measured());
  CHECK(report.devices[1].time == TimeSplit{});
  CHECK(report.devices[2].bubble_ratio == 1.0);
  CHECK(report.bubble_ratio == 0.5);  // 4 of 2 * 4
}

// Measured from 2, the end of microbatch 0, to 6, the end of microbatch 1. The plan of microbatch 2 uses gpu2 alone.
TEST_CASE("summary: a plan that begins after the measured part does not count, and whoever worked in that part does") {
  const Platform four = platform({.devices = 4});
  Measurement measurement;
  measurement.synchronous = false;
  measurement.last = 1;
  for (const bool worked : {false, true}) {
    Summary summary(four, measurement, true);
    OpGraph first = window_with({0, 1});
    first.new_stages = {{{DeviceId(0), DeviceId(1)}}};
    summary.announce(first);
    Op barrier = op_on(OpKind::Barrier, 0);
    summary.add(span(0, 2, 2), barrier, {});
    summary.announce(change_of_plan(2, {DeviceId(2)}));
    if (worked) summary.add(span(1, 3, 4), op_on(OpKind::Forward, 2, StageId(1)), {});
    barrier.microbatch = 1;
    summary.add(span(2, 4, 6), op_on(OpKind::Forward, 0, StageId(0)), {});
    summary.add(span(3, 6, 6), barrier, {});
    summary.add(span(4, 6, 6), mark(2, StageId(1)), {});
    const Report report = summary.finish();
    CHECK(report.measured_devices() == (worked ? 3 : 2));
    CHECK(report.bubble_ratio == (worked ? 1.0 - 3.0 / 12.0 : 1.0 - 2.0 / 8.0));
    CHECK(report.span_bubble_ratio == 1.0);  // gpu1
  }
}

TEST_CASE("summary: a source that is announced to it passes its windows on as they are") {
  const Platform one = platform({.devices = 1});
  Summary summary(one, Measurement{}, true);
  OpGraph window = window_with({0});
  window.append(op_on(OpKind::Update, 0));
  const OpSource source = announced_to(summary, single_window(window, true));
  CHECK(source.one_pass);
  CHECK(source.next({}) == window);
  CHECK(source.next({}) == std::nullopt);
  summary.add(span(0, 0, 1), op_on(OpKind::Update, 0), {});  // gpu0 is known
  summary.add(span(1, 1, 1), op_on(OpKind::Barrier, 0), {});
  CHECK(summary.finish().devices.size() == 1);
}

}  // namespace
}  // namespace stagecraft
