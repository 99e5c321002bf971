// The results that the child sends back: reports, timelines, errors, and its death.
#include "sim/replay/replay.hpp"

#include "sim/base/child_process.hpp"
#include "sim/base/error.hpp"
#include "sim/base/lasting_state.hpp"
#include "sim/engine/summary.hpp"
#include "tests/replay/pipelines.hpp"
#include "tests/replay/runs.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <stdexcept>
#include <string>
#include <vector>

namespace stagecraft::replay_test {
namespace {

using test::Wiring;
using test::Work;

const test::OneFOneB kPipeline{4, 8, Seconds(0.01), Seconds(0.02), Bytes(50000000)};

Platform platform() { return test::star(kPipeline.stages, BytesPerSecond(1e9), Seconds(4e-6)); }

ReplayOptions options(bool timeline) {
  ReplayOptions result;
  result.measurement = kPipeline.measurement();
  result.record = timeline ? RecordPart::All : RecordPart::None;
  return result;
}

std::string message_of(const std::function<OpSource()>& make_source) {
  try {
    (void)replay(platform(), make_source, {}, options(false));
  } catch (const InternalError& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST_CASE("replay: the report that comes back equals the one computed in place") {
  const Platform target = platform();
  const ReplayOutcome outcome = replay(target, [] { return test::source_of(kPipeline); }, {}, options(true));
  ChildProcess child([&](FrameSender& sender) {
    Summary summary(target, kPipeline.measurement(), true);
    Timeline timeline;
    const SpanSink collect = collect_into(timeline);
    replay_here(target, announced_to(summary, test::source_of(kPipeline)), {},
                [&](const Span& span, const Op& op, auto deltas) {
                  summary.add(span, op, deltas);
                  collect(span, op, deltas);
                });
    sender.send(0, summary.finish() == outcome.report ? "same report" : "another report");
    sender.send(0, timeline == outcome.record.timeline ? "same timeline" : "another timeline");
  });
  CHECK(child.receive().value().bytes == "same report");
  CHECK(child.receive().value().bytes == "same timeline");
  CHECK(outcome.report.operations == kPipeline.operations());
  CHECK(outcome.record.timeline.size() == kPipeline.operations());
  CHECK(outcome.report.devices.size() == kPipeline.stages);
  CHECK(outcome.report.bottleneck.has_value());
}

// To the last bit of every number, and in the same order.
TEST_CASE("replay: the same outcome on every run") {
  const Platform target = platform();
  const auto once = [&] { return replay(target, [] { return test::source_of(kPipeline); }, {}, options(true)); };
  const ReplayOutcome first = once();
  for (int i = 0; i < 20; ++i) {
    const ReplayOutcome again = once();
    CHECK(again.report == first.report);
    CHECK(again.record.timeline == first.record.timeline);
  }
}

TEST_CASE("replay: windows of any length give the same timeline") {
  const Platform target = platform();
  const auto with_window = [&](std::size_t window) {
    const auto make = [&] {
      return OpSource{
          [source = test::OneFOneBSource(kPipeline, window)](const Observation&) mutable { return source.next(); }};
    };
    return test::times_of(replay(target, make, {}, options(true)).record.timeline);
  };
  CHECK(with_window(4) == with_window(100000));
}

TEST_CASE("replay: a timeline of more than one chunk arrives whole") {
  const test::OneFOneB longer{8, 300, Seconds(0.01), Seconds(0.02), Bytes(1000)};
  const Platform target = test::star(longer.stages, BytesPerSecond(1e9), Seconds(4e-6));
  ReplayOptions wanted;
  wanted.measurement = longer.measurement();
  wanted.record = RecordPart::All;
  const ReplayOutcome outcome = replay(target, [&] { return test::source_of(longer); }, {}, wanted);
  REQUIRE(outcome.record.timeline.size() == longer.operations());
  CHECK(test::times_of(outcome.record.timeline).size() == longer.operations());
}

TEST_CASE("replay: an input error of the source arrives with its place and hint") {
  const auto source = [] {
    return OpSource{[](const Observation&) -> std::optional<OpGraph> {
      throw InputError("no such stage", {"plan.yaml", 3, 7, "stages[1]"}, "take another");
    }};
  };
  try {
    (void)replay(platform(), source, {}, options(false));
    FAIL("nothing thrown");
  } catch (const InputError& error) {
    CHECK(error.message() == "no such stage");
    CHECK(error.place() == InputPlace{"plan.yaml", 3, 7, "stages[1]"});
    CHECK(error.hint() == "take another");
  }
}

// The second window is asked for from inside a callback of SimGrid.
TEST_CASE("replay: an error in the midst of the run arrives too") {
  const auto source = [] {
    return OpSource{[first = true](const Observation& seen) mutable -> std::optional<OpGraph> {
      if (!first) throw InputError("seen at " + std::to_string(seen.now > Seconds(0)));
      first = false;
      Work work(1);
      const OpId start = work.compute(0, 1.0);
      work.compute(0, 1.0, {start});
      return work.graph();
    }};
  };
  CHECK_THROWS_WITH_AS((void)replay(platform(), source, {}, options(false)), "seen at 1", InputError);
}

TEST_CASE("replay: any other exception arrives as an internal error") {
  CHECK(message_of([]() -> OpSource { throw std::runtime_error("odd"); }) == "odd");
}

TEST_CASE("replay: a child that crashes is reported with its signal and its last words") {
  const std::string message = message_of([]() -> OpSource {
    std::fputs("the last words", stderr);
    std::raise(SIGKILL);
    return {};
  });
  CHECK(message.find("signal 9") != std::string::npos);
  CHECK(message.find("the last words") != std::string::npos);
}

TEST_CASE("replay: migrations come back in the report") {
  const LinkSpec link{BytesPerSecond(1e9), Seconds(0), Duplex::Full, Sharing::Fair};
  const Platform two = Wiring(2).connect(0, 1, link).build();
  Work work(2);
  work.send(0, 1, 2000000000);
  work.graph().ops.back().kind = OpKind::Migration;
  work.graph().ops.back().stage = StageId(1);
  const OpGraph graph = work.finished();
  const Report report = replay(two, [&] { return single_window(graph); }, {}, {}).report;
  CHECK(report.course.migrations ==
        std::vector<Migration>{{StageId(1), PlaceId(0), PlaceId(1), Bytes(2000000000), Seconds(0), Seconds(2)}});
}

TEST_CASE("replay: operations that can never start are an internal error") {
  Work work(2);
  work.compute(0, 1.0);
  const OpGraph graph = work.finished();
  const Platform two = Wiring(2).build();
  const Events events = {{Seconds(0.5), std::nullopt, Failure{DeviceId(0), kNever}}};
  CHECK_THROWS_WITH_AS((void)replay(
                           two, [&] { return single_window(graph); }, events, test::with_timeline()),
                       "2 operations can never start", InternalError);
}

TEST_CASE("replay: a child that is interrupted is an interrupt") {
  const auto interrupted = []() -> OpSource {
    std::raise(SIGINT);
    return {};
  };
  try {
    (void)replay(platform(), interrupted, {}, options(false));
    FAIL("nothing thrown");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::Interrupted);
  }
}

TEST_CASE("replay: what a progress callback throws ends the replay") {
  const test::OneFOneB endless{8, 200000, Seconds(0.01), Seconds(0.02), Bytes(1000)};
  const Platform target = test::star(endless.stages, BytesPerSecond(1e9), Seconds(4e-6));
  ReplayOptions wanted;
  wanted.measurement = endless.measurement();
  wanted.progress = [](const ReplayProgress& progress) {
    CHECK(progress.operations > 0);
    CHECK(progress.now > Seconds(0));
    throw Error(ExitCode::Interrupted, "enough");
  };
  CHECK_THROWS_WITH_AS((void)replay(target, [&] { return test::source_of(endless); }, {}, wanted), "enough", Error);
}

TEST_CASE("replay: progress counts an operation on several devices once, as the report does") {
  constexpr std::uint32_t kDevices = 4;
  constexpr int kOperations = 200'000;
  Work work(kDevices);
  for (int i = 0; i < kOperations; ++i) {
    Op op;
    op.kind = OpKind::Update;
    op.lane = LaneId(0);
    op.from = op.to = PlaceId(0);
    op.seconds = Seconds(0.001);
    op.extra_lanes = kDevices - 1;
    work.add(op);
    for (std::uint32_t lane = 1; lane < kDevices; ++lane) work.graph().extra_lanes.emplace_back(lane);
  }
  const OpGraph graph = work.finished();
  std::uint64_t most = 0;
  ReplayOptions wanted;
  wanted.progress = [&](const ReplayProgress& progress) { most = std::max(most, progress.operations); };
  const ReplayOutcome outcome =
      replay(test::star(kDevices, BytesPerSecond(1e9), Seconds(0)), [&] { return single_window(graph); }, {}, wanted);
  CHECK(outcome.report.operations == kOperations + 1);  // with the barrier
  CHECK(most > 0);
  CHECK(most <= outcome.report.operations);
}

TEST_CASE("replay: a process runs one replay in place whose transfers meet, and any number where none does") {
  ChildProcess child([&](FrameSender& sender) {
    const LinkSpec link{BytesPerSecond(1e9), Seconds(0), Duplex::Full, Sharing::Fair};
    const Platform two = Wiring(2).connect(0, 1, link).build();
    const SpanSink ignore = [](const Span&, const Op&, auto) {};
    Work work(2);
    for (int transfers = 1; transfers <= 2; ++transfers) {
      work.send(0, 1, 1000);
      for (int time = 1; time <= 2; ++time) {
        try {
          replay_here(two, single_window(work.finished()), {}, ignore);
          sender.send(0, has_lasting_state() ? "left state" : "left nothing");
        } catch (const InternalError& error) {
          sender.send(0, error.what());
        }
      }
    }
  });
  CHECK(child.receive().value().bytes == "left nothing");
  CHECK(child.receive().value().bytes == "left nothing");
  CHECK(child.receive().value().bytes == "left state");
  CHECK(child.receive().value().bytes.find("one SimGrid engine") != std::string::npos);
}

TEST_CASE("replay: a short run whose transfers never meet needs no SimGrid") {
  const LinkSpec link{BytesPerSecond(1e9), Seconds(0), Duplex::Full, Sharing::Fair};
  const Platform two = Wiring(2).connect(0, 1, link).build();
  ReplayOptions wanted;
  wanted.record = RecordPart::All;
  Work work(2);
  work.send(0, 1, 1000);
  const auto alone = replay_without_engine(two, single_window(work.finished()), {}, wanted);
  REQUIRE(alone);
  const ReplayOutcome in_child = replay(two, [&] { return single_window(work.finished()); }, {}, wanted);
  CHECK(alone->report == in_child.report);
  CHECK(alone->record.timeline == in_child.record.timeline);
  work.send(0, 1, 1000);
  CHECK_FALSE(replay_without_engine(two, single_window(work.finished()), {}, wanted));
  Work many(2);
  for (int i = 0; i < 20'001; ++i) many.send(0, 1, 0);
  CHECK_FALSE(replay_without_engine(two, single_window(many.finished()), {}, wanted));
  CHECK_FALSE(has_lasting_state());
}

}  // namespace
}  // namespace stagecraft::replay_test
