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
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// What the stages of random plans are run on.
enum class On : std::uint8_t { Devices, Replicas, UnequalReplicas };

/// Two plans for one chain on one platform, with empty tensors.
class RandomSwitch {
 public:
  RandomSwitch(std::uint32_t seed, On on) : random_(seed), on_(on) {
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

  /// How many rounds the first plan has, and how many microbatches the second: hardly any, some, or as many as the
  /// steady state needs twice, and some.
  std::int64_t length(std::int64_t round, std::int64_t least) {
    const std::int64_t some = round * count(1, 4);
    return count(0, 2) == 0 ? some : some + 2 * (least + round - 1) / round * round;
  }

 private:
  std::int64_t count(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  double real(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random_); }
  LinkSpec link() { return test::link_of(real(0.2e9, 2e9), real(0.0, 0.01)); }

  /// With replicas all-reduces run while other devices copy, so then each device has a NIC of its own.
  Platform network() {
    NodeForm form = test::nodes_of(3, 2, Interconnect{SwitchedNode{}, link()}, SwitchedNetwork{},
                                   NicSpec{link(), on_ != On::Devices || count(0, 1) == 1});
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
    Plan plan = testing::straight(static_cast<std::size_t>(count(2, on_ == On::Devices ? 4 : 3)), 1, "pipedream");
    std::size_t device = 0;
    auto layer = std::int64_t{0};
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      Stage& stage = plan.stages[s];
      const auto left = static_cast<std::int64_t>(plan.stages.size() - s - 1);
      const std::int64_t layers = left == 0 ? 8 - layer : count(1, 8 - layer - left);
      stage.layers.clear();
      stage.replicas.clear();
      for (std::int64_t i = 0; i < layers; ++i) stage.layers.emplace_back(layer++);
      const std::int64_t most = std::min<std::int64_t>(3, 6 - static_cast<std::int64_t>(device) - left);
      const std::int64_t replicas = on_ == On::Devices ? 1 : count(1, most);
      for (std::int64_t i = 0; i < replicas; ++i) {
        stage.replicas.emplace_back(devices[device++]);
        if (on_ == On::UnequalReplicas) stage.shares.push_back(count(1, 3));
      }
    }
    plan.training.optimizer_copies = 2;
    return plan;
  }

  std::mt19937 random_;
  On on_;
};

/// The stall of a replay that changes its plan once: as `plans` says, or as soon after that as a run is asked. `plans`
/// gets what took place.
Seconds replayed_stall(const RandomSwitch& random, PlansInTurn& plans) {
  Plan before = random.before;
  before.microbatches = plans.run + plans.left;
  LowerOptions options;
  options.report_window = before.microbatches;
  const auto start = [&]() -> Replanner {
    return [&, done = false](const Observation&, const RunPosition& at) mutable {
      if (std::exchange(done, true)) return ReplanAnswer();
      const std::int64_t first = std::max(at.earliest, plans.run);
      return ReplanAnswer{.change = PlanSwitch{random.after, first}, .changing = plans.time_after};
    };
  };
  options.replanning = Replanning{.start = start, .window = 1};
  const Report report = replay_plan(random.graph, random.platform, before, options).report;
  REQUIRE(report.course.replans.size() == 1);
  const std::optional<Seconds> stall = stall_of(report, 0);
  REQUIRE(stall.has_value());
  plans.run = report.course.replans.front().microbatch;
  plans.left = before.microbatches - plans.run;
  return *stall;
}

/// The plans of a random switch, and how long each runs. A run that changes its plan early goes on for long.
PlansInTurn random_lengths(RandomSwitch& random) {
  const auto compiled = [&](const Plan& plan) { return require_schedule(random.graph, random.platform, plan); };
  const auto least = [](const ScheduleProgram& program) { return least_microbatches(program, program.kept->replicas); };
  const ScheduleProgram first = compiled(random.before);
  const Report alone = evaluate_until_converged(random.graph, random.platform, compiled(random.after));
  REQUIRE(alone.period.has_value());
  PlansInTurn plans{random.before, random.after, *alone.period};
  plans.run = random.length(whole_round(random.before, first.kept->replicas), least(first));
  const std::int64_t after = least(compiled(random.after));
  plans.left = random.length(1, after);
  if (plans.run < least(first)) plans.left += least(first) + after;
  return plans;
}

void check_random_switches(On on) {
  const auto cases = testing::random_cases(400U);
  std::uint32_t with_stall = 0;
  for (std::uint32_t seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    RandomSwitch random(seed, on);
    PlansInTurn plans = random_lengths(random);
    const Seconds real = replayed_stall(random, plans);
    const Seconds expected = switch_stall(random.graph, random.platform, plans, Seconds(0));
    CHECK(expected.value() == doctest::Approx(real.value()).epsilon(0.01));
    if (real > plans.time_after) ++with_stall;
  }
  CHECK(with_stall > cases / 4);
}

}  // namespace

TEST_CASE("switch stall: random switches stall as expected, early, late and between, whatever the copies share") {
  check_random_switches(On::Devices);
}

TEST_CASE("switch stall: so do those between replicas, in whichever round of turns, after their last update") {
  check_random_switches(On::Replicas);
}

TEST_CASE("switch stall: so do those between replicas with unequal shares, whose rounds of turns are long") {
  check_random_switches(On::UnequalReplicas);
}

}  // namespace stagecraft
