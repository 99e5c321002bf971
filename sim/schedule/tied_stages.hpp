#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace stagecraft {

class Replicas;
struct LayerGraph;
struct Plan;

/// The parameters of the replica's stage that other replicas on its device hold already: tied ones, and those of layers
/// that another pipeline has there too. The stage with the most weight versions holds them, of equal ones the first.
/// `versions`: by stage. **Cost** O(layers) where several stages share the device.
[[nodiscard]] Bytes held_elsewhere(const LayerGraph& graph, const Plan& plan, const Replicas& replicas,
                                   const std::vector<std::int64_t>& versions, ReplicaId id);

/// The gradients that each of `layers` adds to the exchange of one ring: tied parameters belong to the first of them
/// that has these, whose backward is the last. Those of the groups `elsewhere` are exchanged in other rings.
/// **Shape** as `layers`.
[[nodiscard]] std::vector<Bytes> exchanged_parameters(const LayerGraph& graph, const std::vector<LayerId>& layers,
                                                      const std::vector<std::size_t>& elsewhere = {});

/// Replicas of several stages that have the same tied parameters and sum up their gradients.
struct TiedRing {
  std::vector<StageId> stages;      ///< increasing
  std::vector<ReplicaId> members;   ///< one on each device, stage by stage in the order of each one's ring
  std::vector<std::size_t> groups;  ///< positions in `LayerGraph::tied`
  Bytes bytes;
  /// Asynchronous: the microbatches between two all-reduces, after which rounds of all stages end, with their updates.
  std::int64_t apart = 1;
};

/// Those of the replicas that are the first on their devices.
[[nodiscard]] std::vector<ReplicaId> one_on_each_device(const Replicas& replicas,
                                                        const std::vector<ReplicaId>& members);

/// The parameters of a layer without the groups for which `is_there` is true.
[[nodiscard]] Bytes parameters_without(const LayerGraph& graph, LayerId layer,
                                       const std::function<bool(std::size_t group)>& is_there);

/// The groups of all the rings.
[[nodiscard]] std::vector<std::size_t> groups_of(const std::vector<TiedRing>& rings);

/// A ring for all groups with the same stages, unless all layers of a group are in one ring of `Replicas::rings`, which
/// then exchanges it. **Cost** O(layers + layers of tied groups).
[[nodiscard]] std::vector<TiedRing> tied_rings(const LayerGraph& graph, const Plan& plan, const Replicas& replicas);

}  // namespace stagecraft
