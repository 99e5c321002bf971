#pragma once

#include "sim/model/op_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "tests/model/topologies.hpp"
#include "tests/replay/fluid.hpp"
#include "tests/schedule/chains.hpp"

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::test {

/// Nodes of eight devices behind a switch, host memory and a NIC for each device; all-reduces in one ring.
inline Platform cluster_of_eights(std::uint32_t nodes, Network network = SwitchedNetwork{}) {
  const LinkSpec inside = link_of(450e9, 1e-6);
  NodeForm form =
      nodes_of(nodes, 8, Interconnect{SwitchedNode{}, inside}, std::move(network), NicSpec{link_of(50e9, 2e-6), true});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(std::int64_t{1} << 42), link_of(50e9, 1e-6), 1};
  PlatformSpec spec = built(std::move(form)).spec;
  spec.collectives.rings = 1;
  spec.collectives.algorithm = CollectiveSpec::Algorithm::Ring;
  return build_platform(std::move(spec));
}

/// Leaf switches of sixteen nodes each, with half the bandwidth of their NICs upwards.
inline FatTreeNetwork half_fat_tree() { return {{{16, 2.0, 1, Seconds(1e-6)}, {2, 1.0, 1, Seconds(1e-6)}}, {}}; }

/// As many layers as stages, 10 ms and 20 ms each, of a megabyte's tensors and a gigabyte's parameters.
inline LayerGraph layers_for(std::size_t stages) {
  LayerGraph graph = testing::chain(stages, 0.01, 0.02, 1'000'000, 1'000'000, 1'000'000'000);
  graph.device_kind = "A";
  return graph;
}

/// Stage s on the devices from s x replicas on, by turns.
inline Plan replicated(std::uint32_t stages, std::uint32_t replicas, std::int64_t microbatches_each,
                       const std::string& schedule = "1f1b") {
  Plan plan = testing::straight(stages, replicas * microbatches_each, schedule);
  for (std::uint32_t s = 0; s < stages; ++s) {
    plan.stages[s].replicas.clear();
    for (std::uint32_t r = 0; r < replicas; ++r) plan.stages[s].replicas.emplace_back(DeviceId(s * replicas + r));
  }
  return plan;
}

/// A transfer from each device to another one picked at random, of up to two gigabytes, all at once.
inline std::vector<FluidTransfer> random_exchange(std::uint32_t devices, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<FluidTransfer> transfers;
  for (std::uint32_t from = 0; from < devices; ++from) {
    const auto to = (from + 1 + static_cast<std::uint32_t>(random() % (devices - 1))) % devices;
    transfers.push_back({from, to, 0.0, 1 + static_cast<std::int64_t>(random() % 2'000'000'000)});
  }
  return transfers;
}

}  // namespace stagecraft::test
