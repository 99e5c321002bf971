#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <string>

namespace stagecraft::testing {

/// The samples of a microbatch here: all small numbers of replicas divide it.
inline constexpr std::int64_t kSamples = 840;

/// A chain of equal layers: forward f, backward b, each tensor `bytes`, stash `stash`, `parameters` each.
inline LayerGraph chain(std::size_t layers, double f, double b, std::int64_t bytes = 0, std::int64_t stash = 0,
                        std::int64_t parameters = 0) {
  LayerGraph graph;
  graph.name = "chain";
  graph.device_kind = "K";
  graph.microbatch_size = kSamples;
  for (std::size_t i = 0; i < layers; ++i) {
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = Seconds(f);
    layer.backward = Seconds(b);
    layer.backward_weight = Seconds(b / 2);
    layer.parameters = Bytes(parameters);
    layer.output = Bytes(bytes);
    layer.stash = Bytes(stash);
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), Bytes(bytes)});
  }
  return graph;
}

/// Devices of one kind, each pair joined by a link of its own.
inline Platform pairwise(std::size_t devices, double bandwidth = 1e9, double latency = 0.0,
                         Duplex duplex = Duplex::Full, Sharing sharing = Sharing::Fair) {
  PlatformSpec spec;
  spec.name = "pairwise";
  spec.device_kinds.push_back({"K", Bytes(std::int64_t{1} << 50), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < devices; ++i) {
    form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), std::nullopt});
  }
  form.default_link = LinkSpec{BytesPerSecond(bandwidth), Seconds(latency), duplex, sharing};
  spec.form = form;
  return build_platform(std::move(spec));
}

/// One stage of one layer on each device in turn.
inline Plan straight(std::size_t stages, std::int64_t microbatches, const std::string& schedule) {
  Plan plan;
  plan.model = "chain";
  plan.platform = "pairwise";
  plan.microbatch_size = kSamples;
  plan.microbatches = microbatches;
  plan.schedule.name = schedule;
  for (std::size_t i = 0; i < stages; ++i) {
    Stage stage;
    stage.layers = {LayerId(i)};
    stage.replicas = {DeviceId(i)};
    plan.stages.push_back(stage);
  }
  return plan;
}

}  // namespace stagecraft::testing
