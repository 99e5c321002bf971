// The stall that is expected of a switch for which the pipeline drains, against that of a replay in which nothing but
// the copies contends: tensors are empty.
#include "experiments/run/switch_stall.hpp"

#include "experiments/run/stall.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/kept_plan.hpp"
#include "sim/schedule/measured_part.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/model/topologies.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// Two plans for one chain on one platform, with empty tensors.
class RandomSwitch {
 public:
  RandomSwitch(std::uint32_t seed, bool replicated) : random_(seed), replicated_(replicated) {
    graph = testing::chain(8, 1.0, 2.0);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(real(0.5, 2.0));
      layer.backward = Seconds(real(0.5, 4.0));
      layer.parameters = Bytes(count(0, 3'000'000'000));
    }
    platform = network();
    before = plan();
    after = plan();
    after.training = before.training;
  }

  LayerGraph graph;
  Platform platform;
  Plan before;
  Plan after;

 private:
  std::int64_t count(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  double real(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random_); }
  LinkSpec link() { return test::link_of(real(0.2e9, 2e9), real(0.0, 0.01)); }

  /// With replicas all-reduces run while other devices copy, so then each device has a NIC of its own.
  Platform network() {
    NodeForm form = test::nodes_of(3, 2, Interconnect{SwitchedNode{}, link()}, SwitchedNetwork{},
                                   NicSpec{link(), replicated_ || count(0, 1) == 1});
    if (count(0, 2) == 0) form = test::nodes_of(1, 6, Interconnect{FullNode{}, link()});
    PlatformSpec spec = test::built(std::move(form)).spec;
    spec.device_kinds[DeviceKindId(0)].name = "K";
    if (count(0, 1) == 1) spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e10);
    return build_platform(std::move(spec));
  }

  Plan plan() {
    std::vector<DeviceId> devices;
    for (std::size_t i = 0; i < 6; ++i) devices.emplace_back(i);
    std::ranges::shuffle(devices, random_);
    Plan plan = testing::straight(static_cast<std::size_t>(count(2, replicated_ ? 3 : 4)), 1, "pipedream");
    std::size_t device = 0;
    auto layer = std::int64_t{0};
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      Stage& stage = plan.stages[s];
      const auto left = static_cast<std::int64_t>(plan.stages.size() - s - 1);
      const std::int64_t layers = left == 0 ? 8 - layer : count(1, 8 - layer - left);
      stage.layers.clear();
      stage.replicas.clear();
      for (std::int64_t i = 0; i < layers; ++i) stage.layers.emplace_back(layer++);
      const std::int64_t replicas = replicated_ ? count(1, 2) : 1;
      for (std::int64_t i = 0; i < replicas; ++i) stage.replicas.emplace_back(devices[device++]);
    }
    plan.training.optimizer_copies = 2;
    return plan;
  }

  std::mt19937 random_;
  bool replicated_;
};

/// The stall of a replay that changes its plan once, so many rounds after twice the least length of a run.
Seconds replayed_stall(const RandomSwitch& random, Seconds period, std::int64_t rounds) {
  const auto compiled = [&](const Plan& plan) { return require_schedule(random.graph, random.platform, plan); };
  const auto least = [](const ScheduleProgram& program) { return least_microbatches(program, program.kept->replicas); };
  const ScheduleProgram first = compiled(random.before);
  const std::int64_t from = 2 * least(first) + rounds * whole_round(random.before, first.kept->replicas);
  Plan before = random.before;
  before.microbatches = from + 2 * least(compiled(random.after));
  LowerOptions options;
  options.report_window = before.microbatches;
  const auto start = [&]() -> Replanner {
    return [&, done = false](const Observation&, const RunPosition& at) mutable {
      if (done || at.earliest < from) return ReplanAnswer();
      done = true;
      return ReplanAnswer{.change = PlanSwitch{random.after, at.earliest}, .changing = period};
    };
  };
  options.replanning = Replanning{.start = start, .window = 1};
  const Report report = replay_plan(random.graph, random.platform, before, options).report;
  REQUIRE(report.course.replans.size() == 1);
  const std::optional<Seconds> stall = stall_of(report, 0);
  REQUIRE(stall.has_value());
  return *stall;
}

/// With replicas, what happens may repeat only every other round, and so does the stall. `rounds`: of which one has the
/// stall that is expected.
void check_random_switches(bool replicated, std::int64_t rounds) {
  const auto cases = testing::random_cases(600U);
  std::uint32_t with_stall = 0;
  for (std::uint32_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const RandomSwitch random(seed, replicated);
    const Report alone = evaluate_until_converged(random.graph, random.platform,
                                                  require_schedule(random.graph, random.platform, random.after));
    REQUIRE(alone.period.has_value());
    const Seconds expected =
        switch_stall(random.graph, random.platform, {random.before, random.after, *alone.period}, Seconds(0));
    Seconds real;
    for (std::int64_t round = 0; round < rounds; ++round) {
      real = replayed_stall(random, *alone.period, round);
      if (expected.value() == doctest::Approx(real.value()).epsilon(0.01)) break;
    }
    CHECK(expected.value() == doctest::Approx(real.value()).epsilon(0.01));
    if (real > *alone.period) ++with_stall;
  }
  CHECK(with_stall > cases / 4);
}

}  // namespace

TEST_CASE("switch stall: random switches stall as expected, whatever the copies share") {
  check_random_switches(false, 1);
}

TEST_CASE("switch stall: so do those between replicas, after whose last all-reduce and update the copies begin") {
  check_random_switches(true, 2);
}

}  // namespace stagecraft
