#include "sim/analytic/class_bound.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/analytic/class_cases.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::ClassCase;
using testing::ClassCaseOptions;
using testing::pairwise;
using testing::straight;

/// Of sums that were rounded down, and of exchanges that have whole bytes.
constexpr double kClassExact = 1e-7;

std::optional<ClassBound> class_bound_of(const LayerGraph& graph, const Platform& platform, std::int64_t microbatches,
                                         bool splits = false, const Training& training = {}) {
  return class_bound(graph, platform, training, microbatches, {.splits_backwards = splits});
}

/// Equal layers of 1 + 2 s whose microbatches cannot be divided.
LayerGraph undivided_chain(std::size_t layers, std::int64_t bytes = 0, std::int64_t parameters = 0) {
  LayerGraph graph = chain(layers, 1, 2, bytes, 0, parameters);
  graph.microbatch_size = 1;
  return graph;
}

constexpr std::int64_t kTooMuchToReduce = 1'000'000'000'000;  // bytes, which take 1000 s at 1 GB/s

TEST_CASE("class bound: one device has all the work") {
  const LayerGraph graph = chain(3, 1, 2, 1000, 0, 1000);
  const std::optional<ClassBound> bound = class_bound_of(graph, pairwise(1), 5);
  REQUIRE(bound);
  CHECK(bound->time == bound->work);
  CHECK(bound->time.value() == doctest::Approx(45).epsilon(kClassExact));
  // 3000 bytes of parameters, gradients and two copies of the optimizer, and 0.25 s for each of ten passes.
  PlatformSpec spec = pairwise(1).spec;
  DeviceKind& kind = spec.device_kinds[DeviceKindId(0)];
  kind.update_bandwidth = BytesPerSecond(6000);
  kind.pass_overhead = Seconds(0.25);
  const std::optional<ClassBound> with_update = class_bound_of(graph, build_platform(std::move(spec)), 5);
  REQUIRE(with_update);
  CHECK(with_update->time > with_update->work);
  CHECK(with_update->time.value() == doctest::Approx(45 + 10 * 0.25 + 2).epsilon(kClassExact));
}

TEST_CASE("class bound: one layer is divided among all devices, or takes turns") {
  const Platform platform = pairwise(4);
  const std::optional<ClassBound> divided = class_bound_of(chain(1, 1, 2), platform, 6);
  CHECK(divided->time == divided->work);
  CHECK(divided->time.value() == doctest::Approx(4.5).epsilon(kClassExact));
  // Of six microbatches some replica has two.
  const std::optional<ClassBound> whole = class_bound_of(undivided_chain(1), platform, 6);
  REQUIRE(whole);
  CHECK(whole->time > whole->work);
  CHECK(whole->time.value() == doctest::Approx(6).epsilon(kClassExact));
}

TEST_CASE("class bound: replicas pay for their gradients, or one device does all") {
  // The only layer hides nothing of its exchange: 1 s for its gigabyte between two devices, then 10 s.
  CHECK(class_bound_of(undivided_chain(1, 0, 1'000'000'000), pairwise(2), 4)->time.value() ==
        doctest::Approx(6 + 1).epsilon(kClassExact));
  CHECK(class_bound_of(undivided_chain(1, 0, 10'000'000'000), pairwise(2), 4)->time.value() ==
        doctest::Approx(12).epsilon(kClassExact));
  // With the optimizer's state divided only the sum counts, which is half of that.
  Training training;
  training.zero = 1;
  CHECK(class_bound_of(undivided_chain(1, 0, 1'000'000'000), pairwise(2), 4, false, training)->time.value() ==
        doctest::Approx(6 + 0.5).epsilon(kClassExact));
  // Of two layers the exchange of the second is hidden behind the backward of the first.
  CHECK(class_bound_of(undivided_chain(2, 0, 1'500'000'000), pairwise(2), 4)->time.value() ==
        doctest::Approx(12 + 1.5).epsilon(kClassExact));
}

TEST_CASE("class bound: a pipeline fills and drains") {
  const Platform platform = pairwise(2);
  const LayerGraph graph = undivided_chain(2, 0, kTooMuchToReduce);
  const std::optional<ClassBound> bound = class_bound_of(graph, platform, 4);
  REQUIRE(bound);
  CHECK(bound->time.value() == doctest::Approx(1 + 4 * 3 + 2).epsilon(kClassExact));
  Plan plan = straight(2, 4, "1f1b");
  plan.microbatch_size = 1;
  const Seconds time = evaluate_iteration(graph, platform, require_schedule(graph, platform, plan));
  CHECK(time.value() == doctest::Approx(bound->time.value()).epsilon(kClassExact));
  // The halves for weights may fill the time in which the last gradient is on its way.
  CHECK(class_bound_of(graph, platform, 4, true)->time.value() == doctest::Approx(1 + 4 * 3).epsilon(kClassExact));
}

TEST_CASE("class bound: a pipeline over nodes waits for tensors, and its cards carry all of them") {
  // 0.5 s each way, before the first microbatch of the second stage and after its last.
  CHECK(class_bound_of(undivided_chain(2, 500'000'000, kTooMuchToReduce), pairwise(2), 4)->time.value() ==
        doctest::Approx(1 + 0.5 + 4 * 3 + 0.5 + 2).epsilon(kClassExact));
  // 3.5 s for each of 20, and a forward and a backward of the first stage.
  CHECK(class_bound_of(undivided_chain(2, 3'500'000'000, kTooMuchToReduce), pairwise(2), 20)->time.value() ==
        doctest::Approx(1 + 20 * 3.5 + 2).epsilon(kClassExact));
  // With six seconds each, one device is faster.
  CHECK(class_bound_of(undivided_chain(2, 6'000'000'000, kTooMuchToReduce), pairwise(2), 4)->time.value() ==
        doctest::Approx(24).epsilon(kClassExact));
}

TEST_CASE("class bound: a stage waits only for what it reads") {
  // Two layers that do not read each other, and a third that reads both.
  LayerGraph graph = undivided_chain(3, 0, kTooMuchToReduce);
  graph.edges.front() = {LayerId(0), LayerId(2), Bytes(0)};
  CHECK(class_bound_of(graph, pairwise(3), 4)->time.value() == doctest::Approx(1 + 4 * 3 + 2).epsilon(kClassExact));
  CHECK(class_bound_of(undivided_chain(3, 0, kTooMuchToReduce), pairwise(3), 4)->time.value() ==
        doctest::Approx(2 + 4 * 3 + 4).epsilon(kClassExact));
  // The second stage waits for the first one if the layer that it ends with does.
  graph.edges.push_back({LayerId(0), LayerId(1), Bytes(0)});
  CHECK(class_bound_of(graph, pairwise(3), 4)->time.value() == doctest::Approx(2 + 4 * 3 + 4).epsilon(kClassExact));
  graph.edges.pop_back();
  // A tensor that skips a stage may stay in its node, however large it is.
  graph.edges.front().bytes = Bytes(kTooMuchToReduce);
  CHECK(class_bound_of(graph, pairwise(3), 4)->time.value() == doctest::Approx(1 + 4 * 3 + 2).epsilon(kClassExact));
}

TEST_CASE("class bound: none where the parameters of a layer fit nowhere") {
  PlatformSpec spec = pairwise(2).spec;
  spec.device_kinds[DeviceKindId(0)].memory = Bytes(4000);
  const Platform platform = build_platform(std::move(spec));
  CHECK(class_bound_of(undivided_chain(2, 0, 1000), platform, 4)->time.value() ==
        doctest::Approx(15).epsilon(kClassExact));
  CHECK_FALSE(class_bound_of(undivided_chain(2, 0, 1001), platform, 4));
}

TEST_CASE("class bound: which plans are in the class") {
  const LayerGraph graph = chain(2, 1, 2);
  const auto with = [&](const auto& change) {
    Plan plan = straight(2, 4, "1f1b");
    change(plan);
    return is_in_class(graph, plan);
  };
  CHECK(with([](Plan&) {}));
  CHECK(with([](Plan& plan) { plan.stages[0].replicas = groups_of_one({DeviceId(0), DeviceId(2)}); }));
  CHECK_FALSE(with([](Plan& plan) { plan.schedule.name = "pipedream"; }));
  CHECK_FALSE(with([](Plan& plan) { plan.stages[1].replicas = {DeviceId(0)}; }));
  CHECK_FALSE(with([](Plan& plan) { std::swap(plan.stages[0].layers, plan.stages[1].layers); }));
  CHECK_FALSE(with([](Plan& plan) {
    plan.stages[0].replicas = groups_of_one({DeviceId(0), DeviceId(2)});
    plan.stages[0].shares = {1, 2};
  }));
  CHECK_FALSE(with([](Plan& plan) {
    plan.stages.push_back(plan.stages[0]);
    plan.stages.back().replicas = {DeviceId(2)};
    plan.stages.back().pipeline = 1;
  }));
  CHECK_FALSE(with([](Plan& plan) { plan.degrees.tensor = 2; }));
  const auto splits = [&](const std::string& schedule) {
    return splits_backwards(require_schedule(graph, pairwise(2), straight(2, 4, schedule)));
  };
  CHECK(splits("zb-h1"));
  CHECK_FALSE(splits("1f1b"));
  CHECK_FALSE(splits("gpipe"));
}

/// By evaluation, of all plans of the class that `class_optimum_of` looks at.
struct ClassOptimum {
  Seconds time = kNever;
  Plan plan;
};

ClassOptimum class_optimum_of(const ClassCase& made) {
  ClassOptimum best;
  testing::visit_plans_of_class(made, [&](const Plan& plan, Seconds time) {
    REQUIRE(is_in_class(made.graph, plan));
    if (time < best.time) best = {time, plan};
    return best.time;
  });
  return best;
}

/// How far the optima of cases are above their bounds.
struct ClassGaps {
  double sum = 0.0;
  int count = 0;
  int by_work = 0;

  void add(const ClassCase& made, double network, bool splits) {
    const auto bound = class_bound(made.graph, made.platform, made.plan.training, made.plan.microbatches,
                                   {.shares_links = false, .splits_backwards = splits});
    REQUIRE(bound);
    const ClassOptimum best = class_optimum_of(made);
    CAPTURE(testing::text_of(best.plan));
    CAPTURE(network);
    REQUIRE(best.time < kNever);
    CHECK(bound->time <= best.time);
    sum += best.time / bound->time - 1.0;
    by_work += bound->time == bound->work ? 1 : 0;
    ++count;
  }
  [[nodiscard]] double mean() const { return sum / count; }
};

ClassGaps gaps_of(int all, std::uint32_t first_seed, const ClassCaseOptions& options) {
  static constexpr std::array kSchedules = {"gpipe", "1f1b", "eager-1f1b", "spp-pe", "zb-h1", "zb-h2"};
  ClassGaps gaps;
  const int drawn = testing::draws_all() ? all : all / 30;  // an optimum takes long
  for (int i = 0; i < drawn; ++i) {
    const std::uint32_t seed = first_seed + static_cast<std::uint32_t>(i);
    CAPTURE(seed);
    ClassCase made = testing::ClassCases(seed, options).make();
    const bool is_large = made.platform.nodes.size() > 2 && made.graph.layers.size() > 4;  // half of the time
    if (is_large && !testing::draws_all()) continue;
    made.plan.schedule.name = kSchedules[seed % kSchedules.size()];
    gaps.add(made, options.network, made.plan.schedule.name.starts_with("zb"));
  }
  return gaps;
}

TEST_CASE("class bound: no optimum of small cases is below it") {
  CHECK(gaps_of(300, 1, {}).mean() < 0.6);
  CHECK(gaps_of(200, 10'000, {.branches = true}).mean() < 0.7);
  const ClassGaps of_kinds = gaps_of(200, 20'000, {.kinds = true});
  CHECK(of_kinds.by_work > 0);
  CHECK(of_kinds.by_work < of_kinds.count);
  gaps_of(200, 30'000, {.branches = true, .kinds = true, .ties = true});
  // A fast network and several microbatches leave little but the work and the filling.
  CHECK(gaps_of(100, 40'000, {.network = 100.0, .least_microbatches = 5}).mean() < 0.1);
}

}  // namespace
}  // namespace stagecraft
