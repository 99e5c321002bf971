#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <string>

namespace stagecraft::testing {

/// A language model as a chain: an embedding, blocks of two layers each (or one), and a head.
inline LayerGraph language_chain(std::int64_t blocks, bool has_halves = true) {
  LayerGraph graph;
  graph.name = "language";
  const auto add = [&](const std::string& name) {
    Layer layer;
    layer.name = name;
    layer.parameters = Bytes(64);
    const std::size_t count = graph.layers.size();
    graph.layers.push_back(layer);
    if (count > 0) graph.edges.push_back({LayerId(count - 1), LayerId(count), Bytes(1)});
  };
  add("embedding");
  for (std::int64_t b = 0; b < blocks; ++b) {
    const std::string block = "block" + std::to_string(b);
    if (!has_halves) {
      add(block);
      continue;
    }
    add(block + ".attention");
    add(block + ".mlp");
  }
  add("head");
  return graph;
}

/// So many devices, gpu0 to the last, each connected with each.
inline Platform like_devices(std::size_t count) {
  PlatformSpec spec;
  spec.name = "some";
  spec.device_kinds.push_back({"A", Bytes(1), 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < count; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  form.default_link = LinkSpec{BytesPerSecond(1.0), Seconds(0)};
  spec.form = form;
  return build_platform(spec);
}

}  // namespace stagecraft::testing
