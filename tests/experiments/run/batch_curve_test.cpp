// The curve of samples per second over the microbatch size.
#include "experiments/run/batch_curve.hpp"

#include "planners/registry.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::batch_curve_test {
namespace {

void ignore(const std::string& /*text*/) {}
void ignore_curve(const BatchCurve& /*curve*/) {}

/// Two equal layers whose time for a microbatch is 1 s and 0.1 s for each sample more; 10 bytes of stash for a sample.
Inputs with_overhead() {
  std::vector<LayerGraph> profiles;
  for (const std::int64_t size : {1, 11}) {
    LayerGraph graph = testing::chain({1, 1});
    graph.microbatch_size = size;
    for (LayerId id : indices(graph.layers)) {
      Layer& layer = graph.layers[id];
      const double factor = size == 1 ? 1.0 : 2.0;
      layer.forward = layer.forward * factor;
      layer.backward = layer.backward * factor;
      layer.output = Bytes(5 * size);
      layer.stash = Bytes(10 * size);
      layer.checkpoint = Bytes(5 * size);
    }
    graph.edges[0].bytes = Bytes(5 * size);
    profiles.push_back(graph);
  }
  return {{profiles}, testing::flat_platform(2, 1000.0, Bytes(2000)), "", ""};
}

LargestSizeChoices with_microbatches(std::int64_t count) {
  LargestSizeChoices choices;
  choices.planning.microbatches = count;
  return choices;
}

TEST_CASE("curve: of every planner it ends at the answer of max-batch, and each point is the plan of that size") {
  const Inputs inputs = with_overhead();
  for (const PlannerInfo* planner : all_planners()) {
    CAPTURE(planner->name);
    const LargestSizeChoices choices = with_microbatches(8);
    const BatchCurve curve = find_batch_curve(*planner, inputs, choices, ignore, ignore_curve);
    const LargestSize largest = find_largest_size(*planner, inputs, choices, ignore);
    REQUIRE(largest.size);
    CHECK(curve.largest.size == largest.size);
    REQUIRE_FALSE(curve.points.empty());
    CHECK(curve.points.back().size == *largest.size);
    CHECK(curve.points.size() + curve.left_out.size() <= 16);
    CHECK(std::ranges::is_sorted(curve.points, std::ranges::less_equal(), &CurvePoint::size));
    for (const CurvePoint& point : curve.points) {
      CAPTURE(point.size);
      const Planning planning = plan_at_size(*planner, inputs, choices.planning, point.size, ignore);
      REQUIRE(planning.planned() != nullptr);
      CHECK(planning.planned()->plan == point.planned.plan);
      const Report report = size_run(planning, inputs.platform, choices, EngineChoice::Evaluate);
      CHECK(report.throughput == point.report.throughput);
      CHECK(point.report.throughput <= curve.fastest()->report.throughput);
    }
  }
}

// A microbatch costs 0.9 s and 0.1 s for each sample, so without recomputation more samples are faster, and recomputing
// all of a stage costs a third more: the fastest lies between the ends.
TEST_CASE("curve: the fastest size is found to a tenth of the best of all sizes") {
  const Inputs inputs = with_overhead();
  LargestSizeChoices choices = with_microbatches(64);
  choices.planning.options = {{"replicas", "1"}};
  const PlannerInfo& gpipe = find_planner("gpipe");
  const BatchCurve curve = find_batch_curve(gpipe, inputs, choices, ignore, ignore_curve);
  double best = 0.0;
  for (std::int64_t size = 1; size <= *curve.largest.size; ++size) {
    const Planning planning = plan_at_size(gpipe, inputs, choices.planning, size, ignore);
    if (planning.planned() == nullptr) continue;
    best = std::max(best, size_run(planning, inputs.platform, choices, EngineChoice::Evaluate).throughput);
  }
  CHECK(curve.fastest()->report.throughput > 0.9 * best);
  CHECK(curve.fastest()->report.throughput > curve.points.front().report.throughput);
}

TEST_CASE("curve: its sizes are those that divide an update, and it is told point by point") {
  const Inputs inputs = with_overhead();
  LargestSizeChoices choices;
  choices.planning.samples_per_update = 36;
  std::size_t told = 0;
  const BatchCurve curve =
      find_batch_curve(find_planner("uniform"), inputs, choices, ignore, [&](const BatchCurve& so_far) {
        CHECK(so_far.points.size() == ++told);
        CHECK(so_far.largest.size);
      });
  CHECK(told == curve.points.size());
  CHECK(curve.points.size() > 3);
  for (const CurvePoint& point : curve.points) CHECK(36 % point.size == 0);
}

TEST_CASE("curve: without a size that fits it has no point, and replays agree with evaluations of a chain") {
  Inputs inputs = with_overhead();
  LargestSizeChoices choices = with_microbatches(8);
  const PlannerInfo& uniform = find_planner("uniform");
  const BatchCurve evaluated = find_batch_curve(uniform, inputs, choices, ignore, ignore_curve);
  choices.replays = true;
  const BatchCurve replayed = find_batch_curve(uniform, inputs, choices, ignore, ignore_curve);
  REQUIRE(replayed.points.size() == evaluated.points.size());
  CHECK(replayed.points.back().report.throughput ==
        doctest::Approx(evaluated.points.back().report.throughput).epsilon(1e-6));
  CHECK(largest_point(uniform, inputs, choices, ignore).points.back().report.throughput ==
        replayed.points.back().report.throughput);
  inputs.platform = testing::flat_platform(2, 1000.0, Bytes(100));
  const BatchCurve none = find_batch_curve(uniform, inputs, choices, ignore, ignore_curve);
  CHECK(none.points.empty());
  CHECK(none.fastest() == nullptr);
}

}  // namespace
}  // namespace stagecraft::batch_curve_test
