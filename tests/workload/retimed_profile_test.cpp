#include "sim/workload/retimed_profile.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace stagecraft::retimed_profile_test {
namespace {

/// Whether both are the same but for the rounding of operators, of which a block has fewer than a hundred.
bool about_same(Seconds a, Seconds b) { return std::abs((a - b).value()) < 100 * 0.5e-9; }

}  // namespace

TEST_CASE("retimed profile: other constants give the times of a profile that is computed for them") {
  const Architecture net = find_architecture("bert-base").value();
  const Degrees degrees{.tensor = 2};
  const DeviceDescription before = find_device("A100-SXM4-80GB", Precision::Bf16).value();
  DeviceDescription after = before;
  after.efficiency.linear = 0.3;
  after.host.time = Seconds(200e-6);
  RetimedProfile profile = retimed_profile(net, before, 2, Granularity::Block, degrees);
  retime(profile, after);
  const LayerGraph fresh = build_model(net, after, 2, Granularity::Block, degrees).profiles.front();
  REQUIRE(profile.graph.layers.size() == fresh.layers.size());
  for (const LayerId id : indices(fresh.layers)) {
    const Layer& layer = profile.graph.layers[id];
    CHECK(about_same(layer.forward, fresh.layers[id].forward));
    CHECK(about_same(layer.backward, fresh.layers[id].backward));
    CHECK(about_same(layer.backward_weight, fresh.layers[id].backward_weight));
    CHECK(layer.forward_exchanges.size() == fresh.layers[id].forward_exchanges.size());
    CHECK(layer.backward_exchanges.size() == fresh.layers[id].backward_exchanges.size());
    CHECK(layer.stash == fresh.layers[id].stash);
  }
  CHECK(profile.graph.edges == fresh.edges);
}

}  // namespace stagecraft::retimed_profile_test
