#include "sim/model/profile_source.hpp"

#include "sim/model/layer_graph.hpp"

namespace stagecraft {

ProfileSource::~ProfileSource() = default;

const LayerGraph& ProfileSource::profile(const std::string& kind, std::int64_t samples) const {
  std::unique_ptr<const LayerGraph>& made = made_[{kind, samples}];
  if (!made) made = std::make_unique<const LayerGraph>(make_profile(kind, samples));
  return *made;
}

LayerTimes ProfileSource::times(LayerId layer, const std::string& kind, std::int64_t samples) const {
  const Layer& own = profile(kind, samples).layers[layer];
  return {own.forward, own.backward, own.backward_weight};
}

}  // namespace stagecraft
