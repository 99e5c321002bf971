#include "sim/schedule/tied_stages.hpp"

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/model/run_sums.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

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

/// By group: the stages with at least one of its layers, increasing.
std::vector<std::vector<StageId>> holders_of_groups(const LayerGraph& graph, const Plan& plan) {
  const IndexVector<LayerId, std::vector<std::size_t>> groups = groups_by_layer(graph);
  std::vector<std::vector<StageId>> all(graph.tied.size());
  for (const StageId stage : indices<StageId>(plan.stages.size())) {
    for (const LayerId layer : plan.stages[stage.value()].layers) {
      for (const std::size_t group : groups[layer]) {
        std::vector<StageId>& holders = all[group];
        if (holders.empty() || holders.back() != stage) holders.push_back(stage);
      }
    }
  }
  return all;
}

/// A ring of the stages' replicas, without parameters.
TiedRing ring_of(const std::vector<StageId>& stages, const Plan& plan, const Replicas& replicas) {
  TiedRing ring{.stages = stages, .members = {}, .groups = {}, .bytes = {}};
  for (const StageId id : stages) {
    const Stage& stage = plan.stages[id.value()];
    for (std::size_t i = 0; i < stage.replicas.size(); ++i) {
      ring.members.push_back(replicas.of(id)[stage.ring.empty() ? i : stage.ring[i]]);
    }
    ring.apart = std::lcm(ring.apart, replicas[replicas.of(id).front()].turns * plan.rounds_per_update);
  }
  ring.members = one_on_each_device(replicas, ring.members);
  return ring;
}

}  // namespace

// The device holds the parameters of all its layers. What the replica adds to those of stages before it is the rest of
// its own.
Bytes held_elsewhere(const LayerGraph& graph, const Plan& plan, const Replicas& replicas,
                     const std::vector<std::int64_t>& versions, ReplicaId id) {
  const Replica& own = replicas[id];
  const bool may_share = !graph.tied.empty() || replicas.pipelines() > 1;
  if (!may_share || replicas.on(own.device).size() == 1) return {};
  const auto rank = [&](ReplicaId other) { return std::pair(-versions[replicas[other].stage.value()], other); };
  const auto layers_of = [&](ReplicaId other) -> const std::vector<LayerId>& {
    return plan.stages[replicas[other].stage.value()].layers;
  };
  std::set<LayerId> layers;
  for (const ReplicaId other : replicas.on(own.device)) {
    if (rank(other) < rank(id)) layers.insert(layers_of(other).begin(), layers_of(other).end());
  }
  const Bytes before = parameters_of(graph, {layers.begin(), layers.end()});
  layers.insert(layers_of(id).begin(), layers_of(id).end());
  return parameters_of(graph, layers_of(id)) - (parameters_of(graph, {layers.begin(), layers.end()}) - before);
}

Bytes parameters_without(const LayerGraph& graph, LayerId layer,
                         const std::function<bool(std::size_t group)>& is_there) {
  Bytes bytes = graph.layers[layer].parameters;
  for (std::size_t group = 0; group < graph.tied.size(); ++group) {
    if (std::ranges::binary_search(graph.tied[group].layers, layer) && is_there(group))
      bytes -= graph.tied[group].bytes;
  }
  return bytes;
}

std::vector<ReplicaId> one_on_each_device(const Replicas& replicas, const std::vector<ReplicaId>& members) {
  std::vector<ReplicaId> first;
  std::set<DeviceId> devices;
  for (const ReplicaId member : members) {
    if (devices.insert(replicas[member].device).second) first.push_back(member);
  }
  return first;
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
  const std::vector<std::vector<StageId>> holders = holders_of_groups(graph, plan);
  for (const std::size_t group : groups_across_rings(graph, replicas)) {
    auto ring = std::ranges::find(rings, holders[group], &TiedRing::stages);
    if (ring == rings.end()) ring = rings.insert(rings.end(), ring_of(holders[group], plan, replicas));
    ring->groups.push_back(group);
    ring->bytes += graph.tied[group].bytes;
  }
  return rings;
}

}  // namespace stagecraft
