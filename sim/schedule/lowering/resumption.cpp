#include "sim/schedule/lowering/resumption.hpp"

#include "sim/base/text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

/// A layer that no device but the lost ones holds; none if there is none.
LayerId lost_layer(const RunShape& shape, const std::vector<DeviceId>& lost) {
  IndexVector<LayerId, char> held(shape.graph().layers.size());
  for (ReplicaId id : shape.replicas().all()) {
    const Replica& replica = shape.replicas()[id];
    if (std::ranges::count(lost, replica.device) > 0) continue;
    for (LayerId layer : shape.plan().stages[replica.stage.value()].layers) held[layer] = 1;
  }
  for (LayerId layer : indices(held)) {
    if (held[layer] == 0) return layer;
  }
  return LayerId::none();
}

/// The last microbatch, up to the first one that is not done, before which the plan updates all weights.
std::int64_t update_before(const PlanRun& run, const Reached& reached) {
  return reached.done - std::max<std::int64_t>(reached.done - reached.first, 0) % run.whole();
}

std::int64_t checkpoint_before(const PlanRun& run, const Reached& reached, std::int64_t distance) {
  if (!run.program().synchronous) return reached.done / distance * distance;
  const std::int64_t ended = reached.done / run.whole() * run.whole();
  return (ended / distance * distance + run.whole() - 1) / run.whole() * run.whole();
}

/// By device that is not lost: its layers.
std::map<DeviceId, std::set<LayerId>> layers_left(const RunShape& shape, const std::vector<DeviceId>& lost) {
  std::map<DeviceId, std::set<LayerId>> layers;
  for (ReplicaId id : shape.replicas().all()) {
    const Replica& replica = shape.replicas()[id];
    if (std::ranges::count(lost, replica.device) > 0) continue;
    const std::vector<LayerId>& own = shape.plan().stages[replica.stage.value()].layers;
    layers[replica.device].insert(own.begin(), own.end());
  }
  return layers;
}

}  // namespace

bool have_same_layers(const RunShape& before, const RunShape& after, const std::vector<DeviceId>& lost) {
  return layers_left(before, lost) == layers_left(after, lost);
}

std::variant<Resumption, std::string> resumption(const PlanRun& run, std::vector<DeviceId> lost, const Reached& reached,
                                                 std::optional<std::int64_t> checkpoint) {
  Resumption found{.microbatch = update_before(run, reached), .lost = std::move(lost)};
  const LayerId layer = lost_layer(run.shape(), found.lost);
  if (layer.is_none() && reached.done >= reached.settled) return found;
  if (!checkpoint) {
    return layer.is_none() ? "layers were on their way, and there is no checkpoint"
                           : "no other device has layer " + quote(run.shape().graph().layers[layer].name) +
                                 ", and there is no checkpoint";
  }
  found.from_checkpoint = true;
  found.microbatch = checkpoint_before(run, reached, *checkpoint);
  return found;
}

}  // namespace stagecraft
