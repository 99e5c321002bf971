#pragma once

#include "sim/base/error.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/decoder.hpp"
#include "sim/workload/decoder_families.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::group_networks {

inline DecoderSize small_decoder(const std::string& family) {
  DecoderSize size = decoder_family(family).usual;
  size.layers = 2;
  size.hidden = 64;
  size.heads = 8;
  size.head_size = 0;
  size.feed_forward = 96;
  size.sequence = 16;
  size.vocabulary = 1000;
  if (size.experts.count > 0) size.experts.feed_forward = 32;
  if (size.latent.key_value_rank > 0) size.latent = {.key_value_rank = 32, .nope = 8, .rope = 4, .value = 8};
  return size;
}

/// Activations of two bytes.
inline LayerGraph graph_of(const Architecture& net, const Degrees& degrees,
                           Granularity granularity = Granularity::Block, std::int64_t samples = 1) {
  DeviceDescription device = find_device("H100-SXM5-80GB").value();
  device.precision = Precision::Bf16;
  return build_model(net, device, samples, granularity, degrees).profiles.at(0);
}

inline Layer layer_of(const LayerGraph& graph, const std::string& name) {
  const auto found = std::ranges::find(graph.layers, name, &Layer::name);
  REQUIRE(found != graph.layers.end());
  return *found;
}

/// Equal but for the order.
inline bool are_alike(std::vector<Exchange> found, const std::vector<Exchange>& expected) {
  return found.size() == expected.size() && std::ranges::all_of(expected, [&](const Exchange& each) {
           return std::ranges::find(found, each) != found.end();
         });
}

/// Of all layers.
struct Sums {
  std::vector<Exchange> forward;
  std::vector<Exchange> backward;
};

inline Sums exchanges_of(const LayerGraph& graph) {
  Sums sums;
  for (const Layer& layer : graph.layers) {
    for (const Exchange& each : layer.forward_exchanges) add_exchange(sums.forward, each);
    for (const Exchange& each : layer.backward_exchanges) add_exchange(sums.backward, each);
  }
  return sums;
}

/// What a network says to a group that cannot divide it, and its hint.
inline std::string refusal(const Architecture& net, const Degrees& degrees) {
  try {
    static_cast<void>(member_of(net, degrees));
  } catch (const InputError& error) {
    return error.message() + " | " + error.hint();
  }
  return "none";
}

}  // namespace stagecraft::group_networks
