#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>

namespace stagecraft::testing {

inline constexpr double kUnit = 1e-3;
inline constexpr Seconds kSameDate(1e-9);  ///< SimGrid adds durations up in another order

/// Layer i of n takes 2^n + 2^i units forward and twice as many backward: every set of layers has a sum of its own.
inline void tell_layers_by_time(LayerGraph& graph) {
  const std::size_t layers = graph.layers.size();
  for (std::size_t i = 0; i < layers; ++i) {
    Layer& layer = graph.layers[LayerId(i)];
    layer.forward = Seconds(kUnit * static_cast<double>((std::int64_t{1} << layers) + (std::int64_t{1} << i)));
    layer.backward = layer.forward * 2.0;
    layer.backward_weight = layer.forward;
  }
}

/// The layers of an operation that takes that time; `each` is the time of a unit.
inline std::set<std::size_t> layers_in(Seconds time, double each, std::size_t layers) {
  const auto units = std::llround(time.value() / each);
  const std::int64_t which = units % (std::int64_t{1} << layers);
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < layers; ++i) {
    if ((which >> i) % 2 == 1) found.insert(i);
  }
  REQUIRE(std::ssize(found) == units >> layers);
  return found;
}

}  // namespace stagecraft::testing
