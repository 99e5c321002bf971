#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"

namespace stagecraft {

/// What the times of a layer are multiplied by; the part of its backward for the weights keeps its share.
struct TimeFactors {
  double forward = 1.0;
  double backward = 1.0;
  friend bool operator==(const TimeFactors&, const TimeFactors&) = default;
};

/// The profile with its times multiplied by the factors of their layers, and likewise its own times for other sizes and
/// kinds of device. Sizes stay as they are. **Requires** factors for every layer.
[[nodiscard]] LayerGraph with_time_factors(LayerGraph graph, const IndexVector<LayerId, TimeFactors>& factors);

/// The model with every profile that it has or computes changed so.
[[nodiscard]] Model with_time_factors(Model model, const IndexVector<LayerId, TimeFactors>& factors);

}  // namespace stagecraft
