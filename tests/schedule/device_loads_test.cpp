#include "sim/schedule/device_loads.hpp"

#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

using Loads = std::vector<std::pair<DeviceId, Seconds>>;

Loads loads_of(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  return device_loads(graph, platform, require_schedule(graph, platform, plan));
}

TEST_CASE("device loads: stages that share a device count together") {
  Plan plan = straight(3, 4, "1f1b");
  const LayerGraph graph = chain(3, 1, 2);
  CHECK(loads_of(graph, pairwise(3), plan) ==
        Loads{{DeviceId(0), Seconds(12)}, {DeviceId(1), Seconds(12)}, {DeviceId(2), Seconds(12)}});
  plan.stages[2].replicas = {DeviceId(0)};
  CHECK(loads_of(graph, pairwise(3), plan) == Loads{{DeviceId(0), Seconds(24)}, {DeviceId(1), Seconds(12)}});
  // Stage 2 alternates: gpu0 runs every microbatch of stage 0 and every other one of stage 2.
  plan.stages[2].replicas = {DeviceId(0), DeviceId(2)};
  CHECK(loads_of(graph, pairwise(3), plan) ==
        Loads{{DeviceId(0), Seconds(18)}, {DeviceId(1), Seconds(12)}, {DeviceId(2), Seconds(6)}});
}

TEST_CASE("device loads: an asynchronous plan has them per microbatch, with its share of an update") {
  // 8 bytes of weights, as many of gradients and twice as many of the optimizer, at 4 B/s: a step takes 8 s.
  const LayerGraph graph = chain(2, 1, 2, 0, 0, 8);
  PlatformSpec spec = pairwise(3).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(4);
  const Platform platform = build_platform(std::move(spec));
  Plan plan = straight(2, 100, "pipedream");
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  CHECK(loads_of(graph, platform, plan) ==
        Loads{{DeviceId(0), Seconds(11)}, {DeviceId(1), Seconds(5.5)}, {DeviceId(2), Seconds(5.5)}});
  plan.rounds_per_update = 4;
  CHECK(loads_of(graph, platform, plan) ==
        Loads{{DeviceId(0), Seconds(5)}, {DeviceId(1), Seconds(2.5)}, {DeviceId(2), Seconds(2.5)}});
}

}  // namespace
}  // namespace stagecraft
