#pragma once

#include "sim/base/index.hpp"
#include "sim/model/time_factors.hpp"

#include <cstddef>
#include <cstdint>

namespace stagecraft {

/// Errors of a measurement: how far the times of a profile are off.
struct ProfileNoise {
  double sigma = 0.0;  ///< at most `kLargestSigma`
  std::uint64_t seed = 0;
  friend bool operator==(const ProfileNoise&, const ProfileNoise&) = default;
};

/// A factor e^(sigma · z) for the forward and the backward of each of `layers` layers, with z from the standard normal
/// distribution. z depends only on the seed, the position of the layer and the direction. So all profiles of a model,
/// of whatever kind and microbatch size, are off alike, and for one seed a larger sigma exaggerates the same errors.
[[nodiscard]] IndexVector<LayerId, TimeFactors> profile_noise(std::size_t layers, const ProfileNoise& noise);

}  // namespace stagecraft
