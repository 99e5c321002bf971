#include "planners/shared/costs/bucket_exchange.hpp"

#include <utility>

namespace stagecraft {

BucketExchange::BucketExchange(RunSums parameters, std::vector<double> backward, Bytes size)
    : parameters_(std::move(parameters)), backward_(std::move(backward)) {
  const std::size_t layers = parameters_.size();
  const auto bytes_of = [&](std::size_t layer) { return parameters_(layer, layer + 1); };
  first_.assign(layers + 1, layers);
  for (std::size_t layer = layers; layer-- > 0;) first_[layer] = bytes_of(layer) > Bytes(0) ? layer : first_[layer + 1];
  completed_by_.assign(layers + 1, 0);
  for (std::size_t at = 1; at <= layers; ++at) {
    Bytes held;
    for (std::size_t layer = at; layer-- > 0;) {
      if (bytes_of(layer) == Bytes(0)) continue;
      if (held > Bytes(0) && held + bytes_of(layer) > size) break;
      held += bytes_of(layer);
      completed_by_[at] = layer;
    }
  }
}

}  // namespace stagecraft
