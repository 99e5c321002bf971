// Noise in both ways of evaluating: which computations have it, from when on, and that both see the same.
#include "sim/model/noise.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "tests/analytic/run.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

using namespace stagecraft;
using namespace stagecraft::hand_made;

namespace {

Event noise(double at, double sigma, std::uint64_t seed) { return {Seconds(at), std::nullopt, Jitter{sigma, seed}}; }
Event noise_at_microbatch(std::uint32_t microbatch, double sigma, std::uint64_t seed) {
  return {Seconds(0), microbatch, Jitter{sigma, seed}};
}

/// A backward and an update after two forwards of 2 s each, with a transfer between.
Draft mixture() {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  const LaneId b = draft.lane(1);
  const OpId f0 = draft.compute("F0", OpKind::Forward, a, 2, {}, 0, 0);
  const OpId x = draft.send("x", 0, 1, 4, {f0});
  const OpId b0 = draft.compute("B0", OpKind::Backward, b, 4, {x}, 0, 1);
  draft.compute("F1", OpKind::Forward, a, 2, {}, 1, 0);
  draft.compute("U", OpKind::Update, b, 1, {b0}, 0, 1);
  return draft;
}

/// One iteration of a plan of two stages.
struct Pipeline {
  LayerGraph graph = testing::chain(2, 0.01, 0.02, 1 << 20, 1 << 20, 1 << 20);
  Platform platform = testing::pairwise(2, 1e9, 1e-5);
  Plan plan = testing::straight(2, 8, "1f1b");
  [[nodiscard]] Timeline timeline(const Events& events, const LowerOptions& options = {}) const {
    Timeline spans;
    static_cast<void>(evaluate_plan(graph, platform, plan, options, events, collect_into(spans)));
    return spans;
  }
  /// But for the events themselves.
  [[nodiscard]] Report report(const Events& events) const {
    Report report = evaluate_plan(graph, platform, plan, {}, events);
    CHECK(report.course.strikes.size() == events.size());
    report.course.strikes.clear();
    return report;
  }
};

using Key = std::tuple<std::uint32_t, OpKind, std::uint32_t>;

/// How long each computation took, by device, kind and microbatch.
std::map<Key, double> durations(const Timeline& timeline) {
  std::map<Key, double> times;
  for (const TimelineEntry& entry : timeline) {
    if (!is_compute(entry.kind)) continue;
    times[{entry.from.value(), entry.kind, entry.microbatch}] += (entry.end - entry.start).value();
  }
  return times;
}

}  // namespace

TEST_CASE("noise: every computation takes its time times its factor, transfers theirs alone") {
  const Jitter jitter{0.5, 11};
  const Draft draft = closed(mixture());
  const Run found = run(draft, single_window(draft.graph), {noise(0, jitter.sigma, jitter.seed)});
  CHECK(found.timeline.size() == draft.graph.ops.size());
  for (const TimelineEntry& entry : found.timeline) {
    const Op& op = draft.graph.ops[entry.id.value()];
    CAPTURE(draft.names[entry.id.value()]);
    const double factor = is_compute(op.kind) ? noise_factor(jitter, op, DeviceId(op.from.value())) : 1.0;
    const double seconds = is_transfer(op.kind) ? 4.0 : op.seconds.value();
    CHECK((entry.end - entry.start).value() == doctest::Approx(seconds * factor).epsilon(1e-14));
    if (op.seconds > Seconds(0)) CHECK(factor != 1.0);
  }
  check_windows(mixture(), {noise(0, 0.5, 11)});
}

TEST_CASE("noise: one pass and the executor agree to the bit, whenever it begins") {
  const Draft draft = closed(mixture());
  const Pipeline pipeline;
  for (const double at : {0.0, 1.0, 2.0, 3.5}) {
    for (const Events& events :
         {Events{noise(at, 0.5, 3)}, Events{noise(at, 0.5, 3), noise(at, 0.25, 4), noise(3, 1, 5)},
          Events{noise(4, 0.5, 3), noise(at, 0.25, 4)}}) {
      CAPTURE(at);
      const Run by_executor = run(draft, single_window(draft.graph), events);
      const Run in_one_pass = run(draft, single_window(draft.graph, true), events);
      CHECK(by_executor.report == in_one_pass.report);
      CHECK(durations(by_executor.timeline) == durations(in_one_pass.timeline));
    }
  }
  // A slowdown by 1 changes nothing, but needs the executor.
  const Event nothing{Seconds(0), std::nullopt, Slowdown{DeviceId(0), 1.0}};
  CHECK(pipeline.report({noise(0, 0.3, 3)}) == pipeline.report({noise(0, 0.3, 3), nothing}));
  CHECK(pipeline.report({noise(0.05, 0.3, 3)}) == pipeline.report({noise(0.05, 0.3, 3), nothing}));
}

TEST_CASE("noise: sigma 0 is no noise, to the bit; the same seed the same run, another one another") {
  const Pipeline pipeline;
  CHECK(pipeline.report({noise(0, 0, 3)}) == pipeline.report({}));
  CHECK(pipeline.report({noise_at_microbatch(0, 0, 3)}) == pipeline.report({}));
  CHECK(pipeline.report({noise(0, 0.1, 3)}) == pipeline.report({noise(0, 0.1, 3)}));
  CHECK(pipeline.report({noise(0, 0.1, 3)}).iterations != pipeline.report({noise(0, 0.1, 4)}).iterations);
}

TEST_CASE("noise: it begins with what starts at its instant, ends with the next, and leaves running work alone") {
  Draft draft{platform()};
  const LaneId a = draft.lane(0);
  for (std::uint32_t k = 0; k < 4; ++k) draft.compute("F" + std::to_string(k), OpKind::Forward, a, 2, {}, k);
  const auto factors = [&](const Events& events) {
    std::vector<bool> has;
    const Run found = by_events(draft, events);
    for (const auto& [key, seconds] : durations(found.timeline)) has.push_back(std::abs(seconds - 2.0) > 1e-9);
    return has;
  };
  using Which = std::vector<bool>;
  CHECK(factors({}) == Which{false, false, false, false});
  CHECK(factors({noise(0, 0.5, 1)}) == Which{true, true, true, true});
  CHECK(factors({noise(1, 0.5, 1)}) == Which{false, true, true, true});
  CHECK(factors({noise(4, 0.5, 1)}) == Which{false, false, true, true});
  CHECK(factors({noise_at_microbatch(0, 0.5, 1)}) == Which{true, true, true, true});
  CHECK(factors({noise_at_microbatch(2, 0.5, 1)}) == Which{false, false, true, true});
  CHECK(factors({noise_at_microbatch(1, 0.5, 1), noise_at_microbatch(2, 0, 1)}) == Which{false, true, false, false});
}

// 1 s of F's noisy time passes until the slowdown; the rest takes twice as long.
TEST_CASE("noise: a slowdown and an abort act on the noisy time") {
  Draft draft{platform()};
  draft.compute("F", OpKind::Forward, draft.lane(0), 4);
  const Jitter jitter{0.1, 2};
  const double noisy = 4 * noise_factor(jitter, draft.graph.ops[0], DeviceId(0));
  REQUIRE(noisy > 1);
  const auto end = [&](const Event& event) {
    return by_events(draft, {noise(0, jitter.sigma, jitter.seed), event}).timeline.back().end.value();
  };
  CHECK(end({Seconds(1), std::nullopt, Slowdown{DeviceId(0), 2}}) == doctest::Approx(1 + 2 * (noisy - 1)));
  CHECK(end({Seconds(1), std::nullopt, Failure{DeviceId(0), Seconds(3)}}) == doctest::Approx(4 + noisy));
}

TEST_CASE("noise: it does not depend on windows, nor on the layers or the schedule of a plan") {
  const Pipeline pipeline;
  const Events events = {noise(0, 0.2, 9)};
  const auto whole = durations(pipeline.timeline(events));
  LowerOptions options;
  for (const std::size_t size : {1U, 7U, 20U}) {
    options.window_operations = size;
    CHECK(durations(pipeline.timeline(events, options)) == whole);
  }
  Pipeline other;
  other.graph = testing::chain(3, 0.01, 0.02, 1 << 20, 1 << 20, 1 << 20);
  other.plan.stages[1].layers.push_back(LayerId(2));
  other.plan.schedule.name = "gpipe";
  const auto doubled = durations(other.timeline(events));
  REQUIRE(doubled.size() == whole.size());
  for (const auto& [key, seconds] : whole) {
    const double ratio = std::get<0>(key) == 1 ? 2.0 : 1.0;
    CHECK(doubled.at(key) == doctest::Approx(ratio * seconds).epsilon(1e-9));
  }
}

TEST_CASE("noise: iterations, chunks of a device and updates have noise of their own") {
  Pipeline pipeline;
  pipeline.graph = testing::chain(4, 0.01, 0.02, 1 << 20, 1 << 20, 1 << 20);
  pipeline.plan = testing::straight(4, 2, "gpipe");
  for (Stage& stage : pipeline.plan.stages) stage.replicas = {DeviceId(stage.layers[0].value() % 2)};
  PlatformSpec spec = pipeline.platform.spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e9);
  pipeline.platform = build_platform(spec);
  LowerOptions options;
  options.iterations = 3;
  std::map<std::tuple<std::uint32_t, OpKind>, std::set<double>> times;
  std::size_t computations = 0;
  for (const TimelineEntry& entry : pipeline.timeline({noise(0, 0.2, 9)}, options)) {
    if (!is_compute(entry.kind)) continue;
    ++computations;
    times[{entry.from.value(), entry.kind}].insert((entry.end - entry.start).value());
  }
  std::size_t different = 0;
  for (const auto& [key, each] : times) different += each.size();
  CHECK(computations == 4 * 3 * (2 + 2 + 1));
  CHECK(different == computations);
}
