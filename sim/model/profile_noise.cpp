#include "sim/model/profile_noise.hpp"

#include "sim/model/noise.hpp"

namespace stagecraft {

IndexVector<LayerId, TimeFactors> profile_noise(std::size_t layers, const ProfileNoise& noise) {
  IndexVector<LayerId, TimeFactors> factors;
  for (std::uint64_t position = 0; position < layers; ++position) {
    factors.push_back({lognormal_factor(noise.sigma, mix_seeds(noise.seed, 2 * position)),
                       lognormal_factor(noise.sigma, mix_seeds(noise.seed, 2 * position + 1))});
  }
  return factors;
}

}  // namespace stagecraft
