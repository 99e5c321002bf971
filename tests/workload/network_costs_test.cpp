#include "sim/workload/network_costs.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/transformer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

namespace stagecraft::network_costs_test {

namespace {

Architecture small_gpt() {
  return gpt("g", {.layers = 2, .hidden = 1024, .heads = 16, .sequence = 512, .vocabulary = 50304, .positions = 512});
}

DeviceDescription a100() { return find_device("A100-SXM4-80GB", Precision::Bf16).value(); }

struct Sums {
  double forward = 0;
  double backward = 0;
  double forward_kernels = 0;
  double backward_kernels = 0;
};

std::map<std::string, Sums> by_block(const Architecture& net, const IndexVector<OperatorId, OperatorCost>& costs) {
  std::map<std::string, Sums> sums;
  for (const OperatorId id : indices(costs)) {
    Sums& sum = sums[net.operators[id].block];
    sum.forward += costs[id].forward.value();
    sum.backward += (costs[id].backward_input + costs[id].backward_weight).value();
    sum.forward_kernels += costs[id].forward_kernels;
    sum.backward_kernels += costs[id].backward_kernels;
  }
  return sums;
}

double norm8(double a, double b) { return std::pow(std::pow(a, 8) + std::pow(b, 8), 1.0 / 8); }

}  // namespace

TEST_CASE("network_costs: a block takes the 8-norm of what the device computes and what the host launches") {
  const Architecture net = small_gpt();
  DeviceDescription device = a100();
  const auto slow = by_block(net, network_costs(net, device, 1, 4));
  const double launch = device.host.time.value() * (1 + 2 * device.host.jitter);
  device.host = {};
  const auto fast = by_block(net, network_costs(net, device, 1, 4));
  REQUIRE(slow.size() == 4);
  for (const auto& [block, sums] : slow) {
    const Sums& own = fast.at(block);
    CHECK(sums.forward == doctest::Approx(norm8(own.forward, own.forward_kernels * launch)).epsilon(1e-9));
    CHECK(sums.backward == doctest::Approx(norm8(own.backward, own.backward_kernels * launch)).epsilon(1e-9));
  }
}

TEST_CASE("network_costs: a host that takes for ever, or no time, gives finite numbers") {
  const Architecture net = small_gpt();
  DeviceDescription device = a100();
  device.host.time = Seconds(1e6);
  for (const auto& [block, sums] : by_block(net, network_costs(net, device, 1))) {
    CHECK(sums.forward == doctest::Approx(1e6 * sums.forward_kernels).epsilon(1e-9));
  }
  device.host.time = Seconds(1e-30);
  const auto waits = network_costs(net, device, 1);
  device.host.time = Seconds(0);
  CHECK(waits == network_costs(net, device, 1));
}

// The floor is one of blocks, so a finer model of the same network takes the same time.
TEST_CASE("network_costs: granularities have the same times") {
  const Architecture net = small_gpt();
  const auto total = [&](Granularity granularity) {
    const Model model = build_model(net, a100(), 1, granularity);
    double sum = 0;
    for (const Layer& layer : model.profiles.front().layers) sum += layer.forward.value() + layer.backward.value();
    return sum;
  };
  const double blocks = total(Granularity::Block);
  for (const Granularity granularity : {Granularity::Operator, Granularity::Layer, Granularity::Residual}) {
    CHECK(total(granularity) == doctest::Approx(blocks).epsilon(1e-9));
  }
}

// Twice the samples take hardly more where the host decides, and twice the time where the device does.
TEST_CASE("network_costs: small microbatches are bound by launches, large ones by the device") {
  const Architecture net = small_gpt();
  const auto forward = [&](std::int64_t samples) {
    return by_block(net, network_costs(net, a100(), samples)).at("block0").forward;
  };
  CHECK(forward(2) < 1.02 * forward(1));
  CHECK(forward(128) > 1.9 * forward(64));
}

TEST_CASE("network_costs: kinds with constants say what these were fitted to, in 16 and 8 bit") {
  for (const WorkloadInfo& known : known_devices()) {
    const DeviceDescription device = find_device(known.name).value();
    for (const Precision precision : precisions_of(device)) {
      const DeviceDescription in_mode = find_device(known.name, precision).value();
      CAPTURE(known.name);
      CHECK(in_mode.fit.empty() == (value_bytes(precision) == 4));
      CHECK((in_mode.tiling.processors > 0) == !in_mode.fit.empty());
    }
  }
}

}  // namespace stagecraft::network_costs_test
