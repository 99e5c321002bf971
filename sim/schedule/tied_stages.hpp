#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

class Replicas;
struct LayerGraph;
struct Plan;

/// The stages of a plan that have tied parameters (`LayerGraph::tied`).
class TiedStages {
 public:
  /// **Cost** O(layers + layers of tied groups).
  TiedStages(const LayerGraph& graph, const Plan& plan);

  /// By position in `LayerGraph::tied`: the stages with at least one of its layers, increasing.
  [[nodiscard]] const std::vector<std::vector<StageId>>& holders() const { return holders_; }

  /// The parameters of the replica's stage that an earlier replica on its device holds already.
  [[nodiscard]] Bytes held_before(const Replicas& replicas, ReplicaId id) const;

 private:
  const LayerGraph& graph_;
  std::vector<std::vector<StageId>> holders_;
};

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
};

/// The groups of all the rings.
[[nodiscard]] std::vector<std::size_t> groups_of(const std::vector<TiedRing>& rings);

/// A ring for all groups with the same stages, unless all layers of a group are in one ring of `Replicas::rings`, which
/// then exchanges it. **Cost** O(layers + layers of tied groups).
[[nodiscard]] std::vector<TiedRing> tied_rings(const LayerGraph& graph, const Plan& plan, const Replicas& replicas);

}  // namespace stagecraft
