#include "sim/model/profile_noise.hpp"

#include "sim/model/noise.hpp"

namespace stagecraft {

LayerGraph with_profile_noise(LayerGraph graph, const ProfileNoise& noise) {
  std::uint64_t position = 0;
  for (Layer& layer : graph.layers) {
    const double forward = lognormal_factor(noise.sigma, mix_seeds(noise.seed, 2 * position));
    const double backward = lognormal_factor(noise.sigma, mix_seeds(noise.seed, 2 * position + 1));
    layer.forward = forward * layer.forward;
    layer.backward = backward * layer.backward;
    layer.backward_weight = backward * layer.backward_weight;
    ++position;
  }
  return graph;
}

}  // namespace stagecraft
