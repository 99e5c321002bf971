#include "sim/schedule/replica_programs.hpp"

#include "sim/model/plan.hpp"

namespace stagecraft {
namespace {

/// The kind whose own times hold on a device; none where only the ratio of speeds is known.
const std::string* own_kind(const LayerGraph& graph, const Platform& platform, DeviceId device) {
  const std::string& kind = platform.kind(device).name;
  if (!graph.own_times) return nullptr;
  if (kind == graph.device_kind) return &kind;
  const auto& given = platform.spec.speeds;
  const bool is_given = given.contains(kind) || given.contains(graph.device_kind);
  return !is_given && graph.own_times->has(kind) ? &kind : nullptr;
}

}  // namespace

ReplicaPrograms::ReplicaPrograms(const LayerGraph& graph, const Platform& platform, const Stage& stage,
                                 std::vector<GradientBucket> buckets)
    : graph_(graph),
      platform_(platform),
      stage_(stage),
      buckets_(std::move(buckets)),
      whole_(stage_program(graph, stage, buckets_)) {}

const StageProgram& ReplicaPrograms::own(const std::string& kind, std::int64_t samples) {
  const auto [at, is_new] = own_.try_emplace({kind, samples});
  if (is_new) {
    const auto times = [&](LayerId layer) { return graph_.own_times->times(layer, kind, samples); };
    at->second = stage_program(graph_, stage_, buckets_, times);
  }
  return at->second;
}

StageProgram ReplicaPrograms::of(DeviceId device, const Share& share) {
  const std::int64_t samples = samples_of(share, graph_.microbatch_size);
  const std::string* kind = own_kind(graph_, platform_, device);
  const bool is_whole = samples == graph_.microbatch_size;
  if (kind != nullptr && (*kind != graph_.device_kind || !is_whole)) {
    return with_bytes_of(own(*kind, samples), share);
  }
  const double factor = require_time_factor(platform_, graph_.device_kind, device);
  if (graph_.own_times && !is_whole) return with_times(with_bytes_of(own(graph_.device_kind, samples), share), factor);
  return scaled(whole_, factor, share);
}

IndexVector<LayerId, LayerTimes> times_of_samples(const LayerGraph& graph, std::int64_t samples) {
  IndexVector<LayerId, LayerTimes> times;
  times.reserve(graph.layers.size());
  const double part = static_cast<double>(samples) / static_cast<double>(graph.microbatch_size);
  const bool is_own = graph.own_times && samples != graph.microbatch_size;
  for (LayerId id : indices(graph.layers)) {
    const Layer& layer = graph.layers[id];
    times.push_back(is_own ? graph.own_times->times(id, graph.device_kind, samples)
                           : LayerTimes{layer.forward * part, layer.backward * part, layer.backward_weight * part});
  }
  return times;
}

}  // namespace stagecraft
