// Noise in the replay: where no two flows meet it is that of `evaluate`, spans included.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>

namespace stagecraft::noise_test {
namespace {

using Times = std::map<std::uint64_t, std::pair<double, double>>;

Times times_of(const Timeline& timeline) {
  Times times;
  for (const TimelineEntry& entry : timeline) times[entry.id.value()] = {entry.start.value(), entry.end.value()};
  return times;
}

Times evaluated(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Events& events) {
  Timeline timeline;
  static_cast<void>(evaluate_plan(graph, platform, plan, {}, events, collect_into(timeline)));
  return times_of(timeline);
}

Times replayed(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Events& events) {
  ReplayOptions options;
  options.record = RecordPart::All;
  return times_of(replay_plan(graph, platform, plan, {}, events, options).record.timeline);
}

Event noise(double at, double sigma, std::uint64_t seed) { return {Seconds(at), std::nullopt, Jitter{sigma, seed}}; }

void check_same(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Events& events) {
  const Times expected = evaluated(graph, platform, plan, events);
  const Times found = replayed(graph, platform, plan, events);
  REQUIRE(found.size() == expected.size());
  for (const auto& [id, time] : expected) {
    CHECK(found.at(id).first == doctest::Approx(time.first).epsilon(1e-9).scale(1e-9));
    CHECK(found.at(id).second == doctest::Approx(time.second).epsilon(1e-9).scale(1e-9));
  }
}

// Transfers take a fifth of a forward's time on a link of each pair and direction, so that none meets another; except
// after a failure, when those that it held up start together. On exclusive links they follow one another.
TEST_CASE("replay: noise is that of evaluate, operation by operation") {
  const LayerGraph graph = testing::chain(4, 0.01, 0.02, 2000000, 1 << 20, 1 << 20);
  const Platform fair = testing::pairwise(4, 1e9, 1e-5);
  const Platform exclusive = testing::pairwise(4, 1e9, 1e-5, Duplex::Full, Sharing::Exclusive);
  const Event failure{Seconds(0.3), std::nullopt, Failure{DeviceId(1), Seconds(0.05)}};
  for (const std::string schedule : {"gpipe", "1f1b", "pipedream"}) {
    CAPTURE(schedule);
    const Plan plan = testing::straight(4, 40, schedule);
    for (const Events& events : {Events{noise(0, 0.1, 3)}, Events{noise(0, 0.1, 3), noise(0.2, 0.3, 4)},
                                 Events{noise(0, 0.1, 3), {Seconds(0), 7, Slowdown{DeviceId(2), 1.5}}},
                                 Events{{Seconds(0), 5, Jitter{0.2, 8}}}}) {
      check_same(graph, fair, plan, events);
      CHECK(evaluated(graph, fair, plan, events) != evaluated(graph, fair, plan, {}));
    }
    check_same(graph, exclusive, plan, {noise(0, 0.1, 3), failure});
    check_same(graph, exclusive, plan, {{Seconds(0), 5, Jitter{0.2, 8}}, failure});
  }
}

// Replicas, recomputes, swaps; exclusive links never share.
TEST_CASE("replay: noise is that of evaluate on random plans, seeds 401 to 440") {
  for (std::uint32_t seed = 401; seed <= 440; ++seed) {
    const testing::RandomCase random = testing::random_case(seed, {Sharing::Exclusive, true, true, 1.0});
    CAPTURE(seed);
    check_same(random.graph, random.platform, random.plan, {noise(0, 0.2, seed)});
  }
}

TEST_CASE("replay: sigma 0 is no noise, to the bit, with shared links too") {
  const LayerGraph graph = testing::chain(3, 0.001, 0.002, 20000000, 1 << 20, 1 << 20);
  const Platform platform = testing::pairwise(3, 1e9, 1e-5, Duplex::Half);
  const Plan plan = testing::straight(3, 12, "1f1b");
  CHECK(replayed(graph, platform, plan, {noise(0, 0, 3)}) == replayed(graph, platform, plan, {}));
}

}  // namespace
}  // namespace stagecraft::noise_test
