// The option `sample` of the planner exhaustive, and what PipeDream's formulas say about its plans.
#include "planners/exhaustive/pipedream_forms.hpp"
#include "planners/exhaustive/sample.hpp"
#include "planners/registry.hpp"
#include "sim/model/check_plan.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace stagecraft::exhaustive {

using namespace stagecraft::testing;

namespace {

PlanRequest request_on(const LayerGraph& graph, const Platform& platform) {
  return {graph, platform, {"pipedream", {}}, 6, {}, parse_options(find_planner("exhaustive"), {})};
}

/// `2-1:1-1` for stages of 2 and 1 layers with one replica each.
std::string shape_of(const std::vector<Stage>& stages) {
  std::string layers;
  std::string replicas;
  for (const Stage& stage : stages) {
    layers += std::to_string(stage.layers.size()) + ' ';
    replicas += std::to_string(stage.replicas.size()) + ' ';
  }
  return layers + "on " + replicas;
}

TEST_CASE("exhaustive: sample draws the number of stages evenly, and then every plan of as many stages") {
  const LayerGraph graph = chain({1.0, 1.0, 1.0});
  const Platform platform = flat_platform(3, 50.0, Bytes(1'000'000));
  const PlanRequest request = request_on(graph, platform);
  SearchSettings settings;
  settings.use_fewer = false;
  std::map<std::string, int> times;
  const int draws = random_cases(6000);
  for (int seed = 1; seed <= draws; ++seed) {
    const Sample drawn = sample(request, settings, seed);
    CHECK(drawn.drawn == 1);
    Plan plan = plan_of(request, drawn.stages);
    CHECK(check_plan(graph, platform, plan).empty());
    ++times[shape_of(drawn.stages)];
  }
  // One stage: one plan. Two stages: cut after the first or second layer, 1 + 2 or 2 + 1 devices. Three stages: one
  // plan.
  const std::map<std::string, double> expected{{"3 on 3 ", 1.0 / 3},      {"1 1 1 on 1 1 1 ", 1.0 / 3},
                                               {"1 2 on 1 2 ", 1.0 / 12}, {"1 2 on 2 1 ", 1.0 / 12},
                                               {"2 1 on 1 2 ", 1.0 / 12}, {"2 1 on 2 1 ", 1.0 / 12}};
  CHECK(times.size() == expected.size());
  for (const auto& [shape, share] : expected) {
    CAPTURE(shape);
    const double deviation = std::sqrt(share * (1.0 - share) / draws);
    CHECK(std::abs(static_cast<double>(times[shape]) / draws - share) < 5.0 * deviation);
  }
}

TEST_CASE("exhaustive: sample draws again until a plan fits, and says how often") {
  LayerGraph graph = chain({1.0, 1.0});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(100);
  const Platform platform =
      flat_platform(2, 50.0, Bytes(700));  // a layer needs 100 x (1 + 1 + 2) bytes, two layers 800
  const PlanRequest request = request_on(graph, platform);
  bool again = false;
  for (int seed = 1; seed <= 20; ++seed) {
    const Sample drawn = sample(request, {}, seed);
    CHECK(shape_of(drawn.stages) == "1 1 on 1 1 ");
    again = again || drawn.drawn > 1;
  }
  CHECK(again);
  const Platform small = flat_platform(2, 50.0, Bytes(300));
  const Sample none = sample(request_on(graph, small), {}, 1);
  CHECK(none.stages.empty());
  CHECK(none.drawn == 1000);
}

TEST_CASE("exhaustive: details give the periods of PipeDream's formulas, as the paper and as the program have them") {
  LayerGraph graph = chain({2.0, 4.0, 3.0});
  for (Layer& layer : graph.layers) layer.parameters = Bytes(150);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(200);
  const Platform platform = flat_platform(6, 50.0, Bytes(1'000'000));
  const PlanRequest request = request_on(graph, platform);
  const auto time_of = [&](std::size_t layer) {
    return (graph.layers[LayerId(layer)].forward + graph.layers[LayerId(layer)].backward).value();
  };
  const std::vector<LayerId> order{LayerId(0), LayerId(1), LayerId(2)};
  const std::vector<Stage> stages{
      stage_of(order, {0, 1, {DeviceId(0), DeviceId(1), DeviceId(2)}}),
      stage_of(order, {1, 3, {DeviceId(3), DeviceId(4)}}),
  };
  const auto forms = pipedream_forms(request, stages);
  REQUIRE(forms);
  // Synchronisation: 4 x 2/3 x 150 / 50 = 8 s, and 4 x 1/2 x 300 / 50 = 12 s. The boundary: 2 x 200 / 50 = 8 s, whole
  // in the paper, divided by the two receivers in the program.
  const double first = time_of(0);
  const double last = time_of(1) + time_of(2);
  CHECK(forms->paper.value() == doctest::Approx(std::max({std::max(first, 8.0) / 3, std::max(last, 12.0) / 2, 8.0})));
  CHECK(forms->program.value() == doctest::Approx(std::max({(first + 8.0) / 3, (last + 12.0) / 2, 4.0})));
}

}  // namespace
}  // namespace stagecraft::exhaustive
