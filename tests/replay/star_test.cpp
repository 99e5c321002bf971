#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/pattern.hpp"
#include "tests/schedule/periodic_plans.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the builders of the room 'schedule'

Report replayed(const RandomCase& random, const Plan& plan, NetworkModel network = NetworkModel::Platform) {
  LowerOptions options;
  options.network = network;
  return replay_plan(random.graph, random.platform, plan, options, {}, {}).report;
}

void check_peaks(const Report& report, const std::vector<std::pair<DeviceId, Bytes>>& expected) {
  REQUIRE(report.devices.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(report.devices[i].device == expected[i].first);
    CHECK(report.devices[i].memory.peak == expected[i].second);
  }
}

TEST_CASE("replay 1f1b-star: vector M2, a pattern that is not contiguous") {
  const RandomCase m2{graph_of(vector_m2()), vector_platform(2, 2, 64), plan_m2()};
  for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
    for (const Plan& plan : {m2.plan, asap(m2.plan)}) {
      const Report report = replayed(m2, plan, network);
      CHECK(report.period->value() == doctest::Approx(14.0).epsilon(1e-9));
      check_peaks(report, {{DeviceId(0), Bytes(47)}, {DeviceId(1), Bytes(55)}});
      CHECK(report.overflows.empty());
    }
  }
}

TEST_CASE("replay 1f1b-star: random patterns have the planned period and memory; asap is never slower") {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const RandomCase random = PeriodicPlans(seed).make();
    const double period = random.plan.pattern->period.value();
    const auto peaks = pattern_peaks(random.graph, require_schedule(random.graph, random.platform, random.plan));
    for (const NetworkModel network : {NetworkModel::Platform, NetworkModel::Analytic}) {
      const Report timed = replayed(random, random.plan, network);
      CHECK(timed.period->value() == doctest::Approx(period).epsilon(1e-9));
      check_peaks(timed, peaks);
      const Report soon = replayed(random, asap(random.plan), network);
      CHECK(soon.period->value() <= period * (1 + 1e-9));
      check_peaks(soon, peaks);
    }
  }
}

TEST_CASE("replay 1f1b-star: channels that are free of order run on full-duplex links that are shared") {
  RandomCase m2{graph_of(vector_m2()), pairwise(2, 2), plan_m2()};
  m2.plan.schedule.parameters = {{"channels", "free"}};
  CHECK(replayed(m2, m2.plan).period->value() == doctest::Approx(14.0).epsilon(1e-9));
}

}  // namespace
}  // namespace stagecraft
