#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/measured_profiles.hpp"
#include "sim/model/platform.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A profile with figures of its own for every layer: times, and what a layer and a tensor keep, are drawn; parameters
/// and what crosses a cut stay.
inline LayerGraph other_profile(LayerGraph graph, const std::string& kind, std::int64_t samples, std::mt19937& random) {
  const auto factor = [&] { return std::uniform_real_distribution<double>(0.2, 1.6)(random); };
  const double part = 0.2 + 0.8 * static_cast<double>(samples) / static_cast<double>(graph.microbatch_size);
  graph.device_kind = kind;
  graph.microbatch_size = samples;
  std::vector<Bytes> before;
  for (SharedTensor& tensor : graph.tensors) {
    before.push_back(tensor.bytes);
    tensor.bytes = scale_up(tensor.bytes, factor() * part);
  }
  for (Layer& layer : graph.layers) {
    layer.forward = layer.forward * (factor() * part);
    layer.backward = layer.backward * (factor() * part);
    layer.backward_weight = layer.backward * 0.5;
    layer.workspace = scale_up(layer.workspace, factor());
    Bytes own = layer.stash;
    for (const std::uint32_t tensor : layer.keeps) own -= before[tensor];
    layer.stash = scale_up(own, factor() * part);
    for (const std::uint32_t tensor : layer.keeps) layer.stash += graph.tensors[tensor].bytes;
    layer.checkpoint = std::min(scale_up(layer.checkpoint, factor() * part), layer.stash);
  }
  return graph;
}

/// Gives the graph profiles of other sizes, and of a second kind of device, "B". **Requires** more than two samples.
inline void give_own_profiles(LayerGraph& graph, unsigned seed) {
  std::mt19937 random(seed * 11 + 5);
  const std::int64_t whole = graph.microbatch_size;
  std::vector<LayerGraph> profiles;
  for (const std::string& kind : {graph.device_kind, std::string("B")}) {
    for (const std::int64_t samples : {std::int64_t{1}, whole / 2, whole}) {
      const bool is_own = kind == graph.device_kind && samples == whole;
      profiles.push_back(is_own ? graph : other_profile(graph, kind, samples, random));
    }
  }
  graph.own_times = std::make_shared<MeasuredProfiles>(std::move(profiles));
}

/// The platform with some of its devices of a second kind, "B", with the memory of the first. Its speed is that of the
/// whole profiles, as the program sets it. **Requires** the explicit form, and a graph with own profiles.
inline Platform with_second_kind(const Platform& platform, const LayerGraph& graph, unsigned seed) {
  PlatformSpec spec = platform.spec;
  const auto total = [](const LayerGraph& profile) { return (totals(profile).forward + totals(profile).backward); };
  DeviceKind second = spec.device_kinds[DeviceKindId(0)];
  second.name = "B";
  spec.device_kinds[DeviceKindId(0)].speed = 1.0;
  second.speed = total(graph) / total(graph.own_times->profile("B", graph.microbatch_size));
  const DeviceKindId id = spec.device_kinds.push_back(second);
  std::mt19937 random(seed * 13 + 3);
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    if (random() % 2 == 0) device.kind = id;
  }
  return build_platform(std::move(spec));
}

}  // namespace stagecraft::testing
