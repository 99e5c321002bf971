#include "experiments/run/variation.hpp"

#include "experiments/run/simulation.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/replica_programs.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "tests/model/topologies.hpp"
#include "tests/paths.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// Two layers of 1 s forward and 2 s backward on two devices; a tensor of 10 bytes each way, at 100 bytes/s.
struct Pair {
  LayerGraph graph = testing::chain({1.0, 1.0});
  Platform platform = testing::flat_platform(2);
  Plan plan;
  Pair() {
    plan.model = "chain";
    plan.schedule = {"gpipe", {}};
    plan.microbatches = 1;
    for (std::uint32_t i = 0; i < 2; ++i) {
      Stage stage;
      stage.layers = {LayerId(i)};
      stage.replicas = {DeviceId(i)};
      plan.stages.push_back(stage);
    }
  }
  [[nodiscard]] double time(const Variation& change, EngineChoice engine) const {
    SimulationChoices choices;
    choices.engine = engine;
    const Platform changed = build_platform(varied(platform.spec, change));
    const LayerGraph profile = varied(graph, change);
    const ScheduleProgram program = require_schedule(profile, changed, plan);
    const Simulation run = simulate_program(profile, changed, program, choices, Settings());
    return headline(run.report.figures())->value();
  }
};

std::vector<std::string> names_of(const Platform& platform) {
  std::vector<std::string> names;
  for (const NamedVariation& each : usual_variations(platform)) names.push_back(each.name);
  return names;
}

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

// One microbatch: 2 s of forwards, 4 s of backwards, and the tensor there and its gradient back, 0.1 s each.
TEST_CASE("variation: times by hand on the explicit form, with both engines") {
  const Pair pair;
  for (const EngineChoice engine : {EngineChoice::Evaluate, EngineChoice::Replay}) {
    CHECK(pair.time({}, engine) == doctest::Approx(6.2).epsilon(1e-9));
    CHECK(pair.time({.bandwidth = 0.5}, engine) == doctest::Approx(6.0 + 2 * 0.2).epsilon(1e-9));
    CHECK(pair.time({.bandwidth = 2}, engine) == doctest::Approx(6.0 + 2 * 0.05).epsilon(1e-9));
    CHECK(pair.time({.network = 2}, engine) == doctest::Approx(6.2).epsilon(1e-9));  // there are no nodes
    CHECK(pair.time({.compute = 0.8}, engine) == doctest::Approx(6.0 * 1.25 + 0.2).epsilon(1e-9));
    CHECK(pair.time({.compute = 1.25}, engine) == doctest::Approx(6.0 * 0.8 + 0.2).epsilon(1e-9));
    CHECK(pair.time({.latency = 10}, engine) == doctest::Approx(6.2).epsilon(1e-9));  // ten times nothing
  }
}

TEST_CASE("variation: within nodes and between them") {
  NodeForm form = test::nodes_of(2, 2, Interconnect{SwitchedNode{}, test::link_of(1000, 1)}, SwitchedNetwork{},
                                 NicSpec{test::link_of(100, 3), false});
  const Platform given = test::built(form);
  const auto bandwidths = [&](const Variation& change) {
    const Platform changed = build_platform(varied(given.spec, change));
    return std::pair(pair_bandwidth(changed, DeviceId(0), DeviceId(1))->value(),
                     pair_bandwidth(changed, DeviceId(0), DeviceId(2))->value());
  };
  CHECK(bandwidths({}) == std::pair(1000.0, 100.0));
  CHECK(bandwidths({.bandwidth = 0.5}) == std::pair(500.0, 50.0));
  CHECK(bandwidths({.network = 2}) == std::pair(1000.0, 200.0));
  CHECK(bandwidths({.bandwidth = 0.5, .network = 4}) == std::pair(500.0, 200.0));
  CHECK(bandwidths({.compute = 2, .collective_efficiency = 0.5, .latency = 10}) == std::pair(1000.0, 100.0));
  const Platform slow = build_platform(varied(given.spec, {.latency = 10}));
  Route before;
  Route after;
  for (const DeviceId to : {DeviceId(1), DeviceId(2)}) {
    REQUIRE(find_route(given, given.place(DeviceId(0)), given.place(to), before));
    REQUIRE(find_route(slow, slow.place(DeviceId(0)), slow.place(to), after));
    CHECK(before.latency > Seconds(0));
    CHECK(after.latency == 10 * before.latency);
  }
}

// Whatever the form, the interconnect and the network: every link there is changes alike. A fat tree's uplinks follow
// their ports.
TEST_CASE("variation: bandwidth and latency reach every link of every kind of platform") {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(STAGECRAFT_SOURCE_DIR "/tests/vectors/good")) {
    if (!entry.path().filename().string().starts_with("platform_")) continue;
    CAPTURE(entry.path().string());
    const Platform given = build_platform(read_platform_file(entry.path().string()));
    const Platform changed = build_platform(varied(given.spec, {.bandwidth = 0.25, .latency = 8}));
    REQUIRE(changed.links.size() == given.links.size());
    for (std::size_t l = 0; l < given.links.size(); ++l) {
      CHECK(changed.links[LinkId(l)].bandwidth.value() ==
            doctest::Approx(0.25 * given.links[LinkId(l)].bandwidth.value()).epsilon(1e-12));
      CHECK(changed.links[LinkId(l)].latency.value() ==
            doctest::Approx(8 * given.links[LinkId(l)].latency.value()).epsilon(1e-12));
    }
    CHECK(varied(given.spec, {}) == given.spec);
    ++files;
  }
  CHECK(files > 10);
}

TEST_CASE("variation: compute changes the update of weights, and a measured table follows bandwidth and efficiency") {
  PlatformSpec spec = testing::flat_platform(2).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(80);
  spec.collectives.efficiency = 0.8;
  spec.collectives.table = {{Bytes(10), BytesPerSecond(6)}, {Bytes(20), BytesPerSecond(8)}};
  CHECK(varied(spec, {.compute = 1.25}).device_kinds[DeviceKindId(0)].update_bandwidth == BytesPerSecond(100));
  spec.device_kinds[DeviceKindId(0)].pass_overhead = Seconds(5);
  spec.device_kinds[DeviceKindId(0)].update_overhead = Seconds(10);
  CHECK(varied(spec, {.compute = 1.25}).device_kinds[DeviceKindId(0)].pass_overhead == Seconds(4));
  CHECK(varied(spec, {.compute = 1.25}).device_kinds[DeviceKindId(0)].update_overhead == Seconds(8));
  CHECK(varied(spec, {.network = 3}).collectives == spec.collectives);
  const CollectiveSpec changed = varied(spec, {.bandwidth = 2, .collective_efficiency = 0.25}).collectives;
  CHECK(changed.efficiency == doctest::Approx(0.2));
  CHECK_FALSE(changed.network_efficiency.has_value());
  CHECK(changed.table[0].second == BytesPerSecond(3));
  spec.collectives = {.efficiency = 0.8, .network_efficiency = 0.4, .latency = Seconds(3)};
  const CollectiveSpec shared = varied(spec, {.collective_efficiency = 0.5, .latency = 10}).collectives;
  CHECK(shared == CollectiveSpec{.efficiency = 0.4, .network_efficiency = 0.2, .latency = Seconds(30)});
  CHECK(changed.table[1] == std::pair(Bytes(20), BytesPerSecond(4)));
}

TEST_CASE("variation: a computed network is slower whole and in parts, at sizes that are computed later, too") {
  Inputs inputs;
  inputs.model = *computed_model({"vgg16", {}, "block"}, "V100-SXM2-16GB", 32);
  inputs.platform = testing::flat_platform(2);
  const Inputs slow = varied(inputs, {.compute = 0.5});
  const Inputs noisy = varied(inputs, {.noise = ProfileNoise{0.1, 1}});
  const auto forward = [](const Inputs& of, std::int64_t size, std::int64_t samples) {
    double sum = 0.0;
    const LayerGraph graph = at_microbatch_size(of.model, size);
    for (const LayerTimes& layer : times_of_samples(graph, samples)) sum += layer.forward.value();
    return sum;
  };
  for (const std::int64_t size : {16, 32, 48}) {
    for (const std::int64_t samples : {size, size / 2}) {
      CAPTURE(samples);
      const double time = forward(inputs, size, samples);
      CHECK(forward(slow, size, samples) == doctest::Approx(2 * time).epsilon(1e-12));
      CHECK(std::abs(forward(noisy, size, samples) / time - 1) > 1e-3);
    }
  }
}

TEST_CASE("variation: what would change nothing is left out") {
  const std::vector<std::string> flat = names_of(testing::flat_platform(2));
  CHECK(flat.size() == 5 + 5);
  CHECK_FALSE(has(flat, "latency x 10"));
  CHECK_FALSE(has(flat, "bandwidth between nodes x 2"));
  const Interconnect inside{SwitchedNode{}, test::link_of(1000, 1)};
  const NicSpec nic{test::link_of(100), false};
  const std::vector<std::string> one = names_of(test::built(test::nodes_of(1, 2, inside, SwitchedNetwork{}, nic)));
  CHECK(one.size() == 6 + 5);
  CHECK(has(one, "latency x 10"));
  CHECK_FALSE(has(one, "bandwidth between nodes x 0.5"));
  const std::vector<std::string> two = names_of(test::built(test::nodes_of(2, 2, inside, SwitchedNetwork{}, nic)));
  CHECK(two.size() == 8 + 5);
  CHECK(has(two, "bandwidth between nodes x 0.5"));
}

}  // namespace stagecraft
