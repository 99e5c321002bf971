// Which layers a transfer of state moved, against its bytes: layer i has 2^i kB, so the bytes tell the layers.
#include "experiments/view/moved_layers.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kLayers = 8;
constexpr std::size_t kDevices = 6;

LayerGraph graph() {
  LayerGraph chain = testing::chain(kLayers, 1.0, 2.0);
  chain.device_kind = "A";
  for (LayerId layer : indices(chain.layers))
    chain.layers[layer].parameters = Bytes(std::int64_t{1000} << layer.value());
  return chain;
}

/// Up to three stages of up to three replicas, on some of the devices.
Plan random_plan(std::mt19937& random) {
  const auto count = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < kDevices; ++i) devices.emplace_back(i);
  std::ranges::shuffle(devices, random);
  Plan plan = testing::straight(static_cast<std::size_t>(count(1, 3)), 6, "1f1b");
  plan.training.optimizer_copies = 2;
  std::size_t layer = 0;
  std::size_t device = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    Stage& stage = plan.stages[s];
    const std::size_t left = plan.stages.size() - s - 1;
    const std::size_t end =
        left == 0 ? kLayers
                  : layer + static_cast<std::size_t>(count(1, static_cast<std::int64_t>(kLayers - layer - left)));
    stage.layers.clear();
    for (; layer < end; ++layer) stage.layers.emplace_back(layer);
    stage.replicas.clear();
    const auto most = static_cast<std::int64_t>(kDevices - device - left);
    for (std::int64_t i = count(1, std::min<std::int64_t>(3, most)); i > 0; --i) {
      stage.replicas.emplace_back(devices[device++]);
    }
  }
  return plan;
}

/// A run of three iterations that takes another plan after the first one.
Report switched(const LayerGraph& graph, const Platform& platform, const Plan& before, const Plan& after) {
  LowerOptions options;
  options.iterations = 3;
  const auto start = [&]() -> Replanner {
    return [&, done = false](const Observation&, const RunPosition& at) mutable {
      if (done) return ReplanAnswer();
      done = true;
      return ReplanAnswer{.change = PlanSwitch{after, at.earliest}};
    };
  };
  options.replanning = Replanning{.start = start, .window = 1};
  return evaluate_plan(graph, platform, before, options);
}

TEST_CASE("moved layers: those of a transfer are the ones whose bytes it moves, also where several devices held them") {
  const LayerGraph layers = graph();
  std::size_t shared = 0;  // transfers from others than the first device that held a layer
  for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
    CAPTURE(seed);
    std::mt19937 random(seed);
    const Platform platform = test::built(test::nodes_of(3, 2, Interconnect{SwitchedNode{}, test::link_of(1e9, 0.0)},
                                                         SwitchedNetwork{}, NicSpec{test::link_of(1e9, 0.0), false}));
    const Plan before = random_plan(random);
    const Plan after = random_plan(random);
    const Report report = switched(layers, platform, before, after);
    const std::vector<Moved> moved = moved_layers(report, before, platform, {&layers});
    CHECK(moved.size() == report.course.migrations.size());
    for (const Moved& each : moved) {
      std::int64_t bytes = 0;
      for (LayerId layer : each.layers) bytes += 3 * layers.layers[layer].parameters.value();
      CHECK(bytes == each.migration->bytes.value());
      for (const Stage& stage : before.stages) {
        const std::vector<DeviceId> devices = devices_of(stage);
        const auto giver = std::ranges::find(devices, platform.device(each.migration->from));
        if (giver != devices.end() && giver != devices.begin()) ++shared;
      }
    }
  }
  CHECK(shared > 0);
}

}  // namespace
}  // namespace stagecraft
