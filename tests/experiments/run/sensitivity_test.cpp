#include "experiments/run/sensitivity.hpp"

#include "sim/model/plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

Standing runs(double throughput) { return {"ok", throughput}; }

/// One stage on each of the devices, and the layers of a chain one after the other.
Plan plan_of(std::size_t layers, std::size_t stages) {
  Plan plan;
  plan.model = "chain";
  plan.schedule = {"gpipe", {}};
  plan.microbatches = 1;
  for (std::size_t s = 0; s < stages; ++s) {
    Stage stage;
    for (std::size_t l = s * layers / stages; l < (s + 1) * layers / stages; ++l) stage.layers.push_back(LayerId(l));
    stage.replicas = {DeviceId(s)};
    plan.stages.push_back(stage);
  }
  return plan;
}

}  // namespace

TEST_CASE("rank: the fastest wins, and regret is what another loses against it") {
  const PlanRanking ranking = rank("v", {runs(8), runs(10), {"out_of_memory", 20.0}, runs(9)}, std::nullopt);
  CHECK(ranking.winner == 1);
  CHECK(ranking.runner_up == 3);
  CHECK(*ranking.lead() == doctest::Approx(10.0 / 9.0 - 1.0));
  CHECK(*ranking.regret(0) == doctest::Approx(1.25));
  CHECK(*ranking.regret(1) == 1.0);
  CHECK_FALSE(ranking.regret(2));
}

TEST_CASE("rank: among the equally fast the preferred one wins, else the first") {
  const std::vector<Standing> equal{runs(5), runs(10), runs(10 * (1 + 1e-12))};
  CHECK(rank("v", equal, std::nullopt).winner == 1);
  CHECK(rank("v", equal, 2).winner == 2);
  CHECK(rank("v", equal, 2).runner_up == 1);
  CHECK(rank("v", equal, 0).winner == 1);
  CHECK(rank("v", {runs(10), {"out_of_memory", 10.0}}, 1).winner == 0);
}

TEST_CASE("rank: there may be no runner-up, and no winner") {
  const PlanRanking alone = rank("v", {{"refused", 0.0, "why"}, runs(3)}, 0);
  CHECK(alone.winner == 1);
  CHECK_FALSE(alone.runner_up);
  CHECK_FALSE(alone.lead());
  const PlanRanking none = rank("v", {{"out_of_memory", 3.0}}, 0);
  CHECK_FALSE(none.winner);
  CHECK_FALSE(none.regret(0));
}

// One microbatch of one sample of a chain of four layers, 3 s each, on devices at 100 bytes/s with tensors of B bytes:
// one stage takes 12 s, four stages 12 s and 6 B / 100 s for three tensors there and back. A single device has no
// transfers, so one stage wins, and all that changes is by how much.
TEST_CASE("sensitivity: the plans are simulated on what varies, and keep their order where nothing else could win") {
  LayerGraph graph = testing::chain({1, 1, 1, 1});
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(100);
  const Platform platform = testing::flat_platform(4);
  const Plan whole = plan_of(4, 1);
  const Plan four = plan_of(4, 4);
  SimulationChoices choices;
  choices.engine = EngineChoice::Evaluate;
  std::size_t calls = 0;
  std::size_t last = 0;
  const auto found =
      find_sensitivity(platform, {{"four", &graph, &four}, {"whole", &graph, &whole}},
                       {runs(1.0 / 18.0), runs(1.0 / 12.0)}, choices, [&](std::size_t done, std::size_t total) {
                         CHECK(done == ++calls);
                         last = total;
                       });
  REQUIRE(found);
  CHECK(found->winner() == 1);
  CHECK(found->survived() == found->varied.size());
  CHECK(found->varied.size() == 10);
  CHECK(calls == 20);
  CHECK(last == 20);
  const auto throughputs = [&](const std::string& name) {
    for (const PlanRanking& ranking : found->varied) {
      if (ranking.variation == name) return std::pair(1 / ranking.plans[0].throughput, 1 / ranking.plans[1].throughput);
    }
    return std::pair(0.0, 0.0);
  };
  CHECK(throughputs("bandwidth x 0.5").first == doctest::Approx(12.0 + 12.0).epsilon(1e-9));
  CHECK(throughputs("bandwidth x 0.5").second == doctest::Approx(12.0).epsilon(1e-9));
  CHECK(throughputs("bandwidth x 2").first == doctest::Approx(12.0 + 3.0).epsilon(1e-9));
  CHECK(throughputs("compute x 0.8").first == doctest::Approx(15.0 + 6.0).epsilon(1e-9));
  CHECK(throughputs("compute x 0.8").second == doctest::Approx(15.0).epsilon(1e-9));
  CHECK(throughputs("collective efficiency x 0.5").first == doctest::Approx(18.0).epsilon(1e-9));
}

// Two devices and 8 microbatches of two layers. Both layers on one device take 8 * 6 s = 48 s. With two stages the
// link, which carries one tensor at a time, is the bottleneck both ways: 1 + 8 * 2.5 + 1 s for the forwards, then,
// since GPipe finishes them first, 2 + 8 * 2.5 + 2 s for the backwards. At half the bandwidth a tensor takes 5 s.
TEST_CASE("sensitivity: another winner where transfers become the bottleneck") {
  LayerGraph graph = testing::chain({1, 1});
  graph.edges.front().bytes = Bytes(250);
  PlatformSpec spec = testing::flat_platform(2).spec;
  std::get<ExplicitForm>(spec.form).default_link->sharing = Sharing::Exclusive;
  const Platform platform = build_platform(spec);
  Plan whole = plan_of(2, 1);
  Plan two = plan_of(2, 2);
  whole.microbatches = two.microbatches = 8;
  SimulationChoices choices;
  choices.engine = EngineChoice::Evaluate;
  const auto throughput_of = [&](const Plan& plan) {
    return simulate_program(graph, platform, require_schedule(graph, platform, plan), choices, Settings())
        .report.throughput;
  };
  CHECK(8 / throughput_of(two) == doctest::Approx(22.0 + 24.0).epsilon(1e-9));
  CHECK(8 / throughput_of(whole) == doctest::Approx(48.0).epsilon(1e-9));
  const auto found =
      find_sensitivity(platform, {{"whole", &graph, &whole}, {"two", &graph, &two}},
                       {runs(throughput_of(whole)), runs(throughput_of(two))}, choices, [](auto, auto) {});
  REQUIRE(found);
  CHECK(found->winner() == 1);
  const PlanRanking& half = found->varied.front();
  CHECK(half.variation == "bandwidth x 0.5");
  CHECK(half.winner == 0);
  CHECK_FALSE(found->survives(half));
  CHECK(*half.regret(found->winner()) == doctest::Approx((42.0 + 44.0) / 48.0).epsilon(1e-9));
  CHECK(found->survives(found->varied[1]));
  CHECK(found->survived() < found->varied.size());
}

TEST_CASE("sensitivity: with fewer than two plans that run there is none") {
  const LayerGraph graph = testing::chain({1});
  const Plan plan = plan_of(1, 1);
  const auto found = find_sensitivity(testing::flat_platform(1), {{"a", &graph, &plan}, {"b", &graph, &plan}},
                                      {runs(1), {"out_of_memory", 1.0}}, {}, [](auto, auto) { CHECK(false); });
  CHECK_FALSE(found);
}

}  // namespace stagecraft
