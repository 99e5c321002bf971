#include "sim/schedule/tied_stages.hpp"

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

bool has(const std::vector<StageId>& stages, StageId stage) { return std::ranges::binary_search(stages, stage); }

/// By layer: its groups.
IndexVector<LayerId, std::vector<std::size_t>> groups_by_layer(const LayerGraph& graph) {
  IndexVector<LayerId, std::vector<std::size_t>> groups(graph.layers.size());
  for (std::size_t group = 0; group < graph.tied.size(); ++group) {
    for (const LayerId id : graph.tied[group].layers) groups[id].push_back(group);
  }
  return groups;
}

/// The groups whose layers are in different rings.
std::vector<std::size_t> groups_across_rings(const LayerGraph& graph, const Replicas& replicas) {
  IndexVector<LayerId, std::size_t> ring_of(graph.layers.size());
  for (std::size_t ring = 0; ring < replicas.rings().size(); ++ring) {
    for (const LayerId id : replicas.rings()[ring].layers) ring_of[id] = ring;
  }
  std::vector<std::size_t> across;
  for (std::size_t group = 0; group < graph.tied.size(); ++group) {
    const std::vector<LayerId>& layers = graph.tied[group].layers;
    const auto is_elsewhere = [&](LayerId id) { return ring_of[id] != ring_of[layers.front()]; };
    if (std::ranges::any_of(layers, is_elsewhere)) across.push_back(group);
  }
  return across;
}

/// The replicas of the stages, but one of each device.
std::vector<ReplicaId> members_of(const std::vector<StageId>& stages, const Plan& plan, const Replicas& replicas) {
  std::vector<ReplicaId> members;
  std::vector<DeviceId> devices;
  for (const StageId id : stages) {
    const Stage& stage = plan.stages[id.value()];
    for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
      const ReplicaId member = replicas.of(id)[stage.ring.empty() ? i : stage.ring[i]];
      const DeviceId device = replicas[member].device;
      if (std::ranges::find(devices, device) != devices.end()) continue;
      devices.push_back(device);
      members.push_back(member);
    }
  }
  return members;
}

}  // namespace

TiedStages::TiedStages(const LayerGraph& graph, const Plan& plan) : graph_(graph), holders_(graph.tied.size()) {
  if (graph.tied.empty()) return;
  const IndexVector<LayerId, std::vector<std::size_t>> groups = groups_by_layer(graph);
  for (const StageId stage : indices<StageId>(plan.stages.size())) {
    for (const LayerId layer : plan.stages[stage.value()].layers) {
      for (const std::size_t group : groups[layer]) {
        std::vector<StageId>& holders = holders_[group];
        if (holders.empty() || holders.back() != stage) holders.push_back(stage);
      }
    }
  }
}

Bytes TiedStages::held_before(const Replicas& replicas, ReplicaId id) const {
  Bytes held;
  const Replica& own = replicas[id];
  for (std::size_t group = 0; group < holders_.size(); ++group) {
    if (!has(holders_[group], own.stage)) continue;
    const auto is_before = [&](ReplicaId other) { return other < id && has(holders_[group], replicas[other].stage); };
    if (std::ranges::any_of(replicas.on(own.device), is_before)) held += graph_.tied[group].bytes;
  }
  return held;
}

std::vector<Bytes> exchanged_parameters(const LayerGraph& graph, const std::vector<LayerId>& layers,
                                        const std::vector<std::size_t>& elsewhere) {
  std::vector<Bytes> exchanged;
  for (const LayerId id : layers) exchanged.push_back(graph.layers[id].parameters);
  if (graph.tied.empty()) return exchanged;
  const IndexVector<LayerId, std::vector<std::size_t>> groups = groups_by_layer(graph);
  std::vector<char> is_exchanged(graph.tied.size());
  for (const std::size_t group : elsewhere) is_exchanged[group] = 1;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (const std::size_t group : groups[layers[i]]) {
      if (std::exchange(is_exchanged[group], 1) != 0) exchanged[i] -= graph.tied[group].bytes;
    }
  }
  return exchanged;
}

std::vector<std::size_t> groups_of(const std::vector<TiedRing>& rings) {
  std::vector<std::size_t> groups;
  for (const TiedRing& ring : rings) groups.insert(groups.end(), ring.groups.begin(), ring.groups.end());
  return groups;
}

std::vector<TiedRing> tied_rings(const LayerGraph& graph, const Plan& plan, const Replicas& replicas) {
  std::vector<TiedRing> rings;
  if (graph.tied.empty()) return rings;
  const TiedStages tied(graph, plan);
  for (const std::size_t group : groups_across_rings(graph, replicas)) {
    const std::vector<StageId>& stages = tied.holders()[group];
    auto ring = std::ranges::find(rings, stages, &TiedRing::stages);
    if (ring == rings.end()) ring = rings.insert(rings.end(), {stages, members_of(stages, plan, replicas), {}, {}});
    ring->groups.push_back(group);
    ring->bytes += graph.tied[group].bytes;
  }
  return rings;
}

}  // namespace stagecraft
