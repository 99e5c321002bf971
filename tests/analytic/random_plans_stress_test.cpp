// Random plans, many of them: whichever way an engine takes through a run, and however the run is cut into windows,
// each operation starts and ends at the same time.
#include "sim/analytic/evaluate.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/lower.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

struct Scene {
  LayerGraph graph;
  Platform platform;
  Plan plan;
};

std::int64_t draw(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

Stage random_stage(std::mt19937_64& random, std::uint32_t& next_layer, std::uint32_t& next_device) {
  Stage stage;
  for (std::int64_t i = draw(random, 1, 3); i > 0; --i) stage.layers.emplace_back(next_layer++);
  for (std::int64_t i = draw(random, 1, 3); i > 0; --i) stage.replicas.emplace_back(DeviceId(next_device++));
  stage.replication = draw(random, 0, 1) == 0 ? Replication::RoundRobin : Replication::Split;
  if (draw(random, 0, 3) == 0) stage.memory = {Recompute{stage.layers, {draw(random, 1, 3), 3}}};
  return stage;
}

/// A chain of 1 to 6 stages with 1 to 3 layers and 1 to 3 replicas each; times are small fractions, so that many
/// operations end at the same instant.
Scene random_scene(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Scene scene;
  std::uint32_t layers = 0;
  std::uint32_t devices = 0;
  for (std::int64_t i = draw(random, 1, 6); i > 0; --i) {
    scene.plan.stages.push_back(random_stage(random, layers, devices));
  }
  scene.graph = testing::chain(layers, 1, 2, 0, 100, 10);
  for (Layer& layer : scene.graph.layers) {
    layer.forward = Seconds(static_cast<double>(draw(random, 0, 8)) / 4);
    layer.backward = Seconds(static_cast<double>(draw(random, 0, 16)) / 4);
    layer.output = Bytes(draw(random, 0, 6));
  }
  for (LayerEdge& edge : scene.graph.edges) edge.bytes = scene.graph.layers[edge.from].output;
  scene.graph.microbatch_size = 6;
  scene.plan.microbatch_size = 6;
  const double latency = static_cast<double>(draw(random, 0, 2)) / 8;
  const Duplex duplex = draw(random, 0, 1) == 0 ? Duplex::Full : Duplex::Half;
  scene.platform = testing::pairwise(devices, static_cast<double>(draw(random, 1, 4)), latency, duplex);
  scene.plan.schedule.name = draw(random, 0, 1) == 0 ? "gpipe" : "1f1b";
  scene.plan.microbatches = draw(random, 1, 24);
  return scene;
}

struct Entry {
  OpId id;
  Seconds start;
  Seconds end;
  friend bool operator==(const Entry&, const Entry&) = default;
};

/// Start and end of every operation, by id.
std::vector<Entry> times(const Scene& scene, std::size_t window_operations, bool one_pass) {
  LowerOptions options;
  options.iterations = 2;
  options.window_operations = window_operations;
  LoweredRun run =
      lower(scene.graph, scene.platform, require_schedule(scene.graph, scene.platform, scene.plan), options);
  run.source.one_pass = run.source.one_pass && one_pass;
  std::vector<Entry> entries;
  evaluate(scene.platform, run.source, {}, [&](const Span& span, const Op&, std::span<const MemoryDelta>) {
    entries.push_back({span.id, span.start, span.end});
  });
  std::ranges::sort(entries, {}, &Entry::id);
  return entries;
}

bool nearly_equal(const std::vector<Entry>& a, const std::vector<Entry>& b) {
  const auto close = [](Seconds x, Seconds y) {
    return std::abs((x - y).value()) <= 1e-12 * std::max(1.0, std::abs(x.value()));
  };
  return std::ranges::equal(a, b, [&](const Entry& x, const Entry& y) {
    return x.id == y.id && close(x.start, y.start) && close(x.end, y.end);
  });
}

TEST_CASE("stress: one pass and the executor agree on 5000 random plans, in any windows") {
  int in_one_pass = 0;
  for (std::uint64_t seed = 1; seed <= 5000; ++seed) {
    CAPTURE(seed);
    const Scene scene = random_scene(seed);
    REQUIRE(check_plan(scene.graph, scene.platform, scene.plan).empty());
    const std::vector<Entry> reference = times(scene, 0, false);
    REQUIRE_FALSE(reference.empty());
    REQUIRE(nearly_equal(times(scene, 0, true), reference));
    REQUIRE(nearly_equal(times(scene, 1, false), reference));
    REQUIRE(nearly_equal(times(scene, 7, true), reference));
    const ScheduleProgram program = require_schedule(scene.graph, scene.platform, scene.plan);
    in_one_pass += lower(scene.graph, scene.platform, program).source.one_pass ? 1 : 0;
  }
  CHECK(in_one_pass > 1000);  // else the test compares the executor with itself
}

}  // namespace
}  // namespace stagecraft
