#include "sim/workload/network_costs.hpp"

#include <cmath>
#include <map>
#include <string>

namespace stagecraft {
namespace {

constexpr double kSharpness = 8;  ///< how closely the sum of powers follows the longer time

/// One way through a block.
struct Pass {
  double computing = 0;  ///< seconds
  double kernels = 0;

  /// By how much operators take longer because the device waits for launches.
  [[nodiscard]] double stretch(double launch) const {
    const double ratio = computing > 0 ? kernels * launch / computing : 0.0;
    // The larger of both is taken out, so that no power overflows.
    return ratio > 1 ? ratio * std::pow(1.0 + std::pow(ratio, -kSharpness), 1.0 / kSharpness)
                     : std::pow(1.0 + std::pow(ratio, kSharpness), 1.0 / kSharpness);
  }
};

struct BlockPasses {
  Pass forward;
  Pass backward;
};

std::map<std::string, BlockPasses> passes_of(const Architecture& net,
                                             const IndexVector<OperatorId, OperatorCost>& costs) {
  std::map<std::string, BlockPasses> blocks;
  for (const OperatorId id : indices(costs)) {
    BlockPasses& block = blocks[net.operators[id].block];
    block.forward.computing += costs[id].forward.value();
    block.forward.kernels += costs[id].forward_kernels;
    block.backward.computing += (costs[id].backward_input + costs[id].backward_weight).value();
    block.backward.kernels += costs[id].backward_kernels;
    if (!is_recomputed(net, id)) continue;
    block.backward.computing += costs[id].recomputed.value();
    block.backward.kernels += costs[id].forward_kernels;
  }
  return blocks;
}

}  // namespace

IndexVector<OperatorId, OperatorCost> network_costs(const Architecture& net, const DeviceDescription& device,
                                                    std::int64_t microbatch_size, std::int64_t members) {
  IndexVector<OperatorId, OperatorCost> costs;
  costs.reserve(net.operators.size());
  for (const OperatorId id : indices(net.operators)) {
    costs.push_back(operator_cost(net.operators[id], device, device.precision, microbatch_size));
    if (is_recomputed(net, id)) costs[id].recomputed = costs[id].forward;
  }
  if (device.host.time == Seconds(0)) return costs;
  const double launch = device.host.time.value() * (1.0 + device.host.jitter * std::log2(static_cast<double>(members)));
  const std::map<std::string, BlockPasses> blocks = passes_of(net, costs);
  for (const OperatorId id : indices(costs)) {
    const BlockPasses& block = blocks.at(net.operators[id].block);
    const double backward = block.backward.stretch(launch);
    costs[id].forward = costs[id].forward * block.forward.stretch(launch);
    costs[id].backward_input = costs[id].backward_input * backward;
    costs[id].backward_weight = costs[id].backward_weight * backward;
    costs[id].recomputed = costs[id].recomputed * backward;
  }
  return costs;
}

}  // namespace stagecraft
