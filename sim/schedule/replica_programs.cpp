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
                                 StageBuckets buckets)
    : graph_(graph),
      platform_(platform),
      stage_(stage),
      buckets_(std::move(buckets)),
      whole_(stage_program(graph, stage, buckets_)) {}

const StageProgram& ReplicaPrograms::profiled(const std::string& kind, std::int64_t samples) {
  if (kind == graph_.device_kind && samples == graph_.microbatch_size) return whole_;
  const auto [at, is_new] = profiled_.try_emplace({kind, samples});
  if (is_new) at->second = stage_program(graph_.own_times->profile(kind, samples), stage_, buckets_);
  return at->second;
}

StageProgram ReplicaPrograms::memory_of(DeviceId device, const Share& share) {
  if (!graph_.own_times) return scaled(whole_, 1.0, share);
  const std::string& kind = platform_.kind(device).name;
  const std::int64_t samples = samples_of(share, graph_.microbatch_size);
  return profiled(graph_.own_times->has(kind) ? kind : graph_.device_kind, samples);
}

StageProgram ReplicaPrograms::of(DeviceId device, const Share& share) {
  return with_overhead(timed(device, share), pass_overhead(platform_, device));
}

StageProgram ReplicaPrograms::timed(DeviceId device, const Share& share) {
  if (own_kind(graph_, platform_, device) != nullptr) {
    return with_times(memory_of(device, share), platform_.devices[device].slowdown);
  }
  const double factor = require_time_factor(platform_, graph_.device_kind, device);
  if (!graph_.own_times) return scaled(whole_, factor, share);
  const std::int64_t samples = samples_of(share, graph_.microbatch_size);
  return with_bytes_of(with_times(profiled(graph_.device_kind, samples), factor), memory_of(device, share));
}

Origin times_origin(const LayerGraph& graph, const Platform& platform, DeviceId device, std::int64_t samples) {
  const std::string& kind = platform.kind(device).name;
  const bool is_profiled = kind == graph.device_kind;
  if (is_profiled && samples == graph.microbatch_size) return graph.origin;
  if (own_kind(graph, platform, device) != nullptr) return graph.own_times->origin(kind, samples);
  const bool is_given = platform.spec.speeds.contains(kind) || platform.spec.speeds.contains(graph.device_kind);
  return !is_profiled && is_given ? Origin::Assumed : Origin::Extrapolated;
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

IndexVector<LayerId, LayerTimes> times_of_samples(const LayerGraph& graph, const Platform& platform, DeviceId device,
                                                  std::int64_t samples) {
  const std::string* kind = own_kind(graph, platform, device);
  const double factor =
      kind != nullptr ? platform.devices[device].slowdown : require_time_factor(platform, graph.device_kind, device);
  IndexVector<LayerId, LayerTimes> times;
  if (kind == nullptr || *kind == graph.device_kind) {
    times = times_of_samples(graph, samples);
  } else {
    for (const LayerId id : indices(graph.layers)) times.push_back(graph.own_times->times(id, *kind, samples));
  }
  for (LayerTimes& layer : times) {
    layer = {layer.forward * factor, layer.backward * factor, layer.backward_weight * factor};
  }
  return times;
}

}  // namespace stagecraft
