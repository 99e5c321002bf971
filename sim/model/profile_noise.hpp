#pragma once

#include "sim/model/layer_graph.hpp"

#include <cstdint>

namespace stagecraft {

/// Errors of a measurement: how far the times of a profile are off.
struct ProfileNoise {
  double sigma = 0.0;  ///< at most `kLargestSigma`
  std::uint64_t seed = 0;
  friend bool operator==(const ProfileNoise&, const ProfileNoise&) = default;
};

/// The profile with the forward and the backward of each layer multiplied by a factor e^(sigma · z) of its own, with z
/// from the standard normal distribution; the part of a backward for the weights keeps its share. z depends only on the
/// seed, the position of the layer and the direction. So all profiles of a model, at whatever microbatch size, are off
/// alike, and for one seed a larger sigma exaggerates the same errors. Sizes stay as they are.
[[nodiscard]] LayerGraph with_profile_noise(LayerGraph graph, const ProfileNoise& noise);

}  // namespace stagecraft
