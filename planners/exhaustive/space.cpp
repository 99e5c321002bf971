#include "planners/exhaustive/space.hpp"

#include <algorithm>

namespace stagecraft::exhaustive {
namespace {

double binomial(std::size_t n, std::size_t k) {
  if (k > n) return 0.0;
  double value = 1.0;
  for (std::size_t i = 1; i <= std::min(k, n - k); ++i)
    value = value * static_cast<double>(n + 1 - i) / static_cast<double>(i);
  return value;
}

}  // namespace

std::size_t Space::ways(std::size_t replicas) const {
  if (replicas == 1) return 1;
  return (round_robin ? 1U : 0U) + (replicas <= most_split ? 1U : 0U);
}

SpaceCount::SpaceCount(const Space& space) : space_(space) {
  const std::size_t most = std::min(space.layers, space.devices);
  assignments_.assign(most + 1, std::vector<double>(space.devices + 1, 0.0));
  assignments_[0][0] = 1.0;
  for (std::size_t stages = 1; stages <= most; ++stages) {
    for (std::size_t devices = stages; devices <= space.devices; ++devices) {
      for (std::size_t replicas = 1; replicas <= devices; ++replicas) {
        assignments_[stages][devices] +=
            static_cast<double>(space.ways(replicas)) * assignments_[stages - 1][devices - replicas];
      }
    }
  }
}

double SpaceCount::total() const {
  double sum = 0.0;
  for (std::size_t stages = 1; stages < assignments_.size(); ++stages) {
    for (std::size_t devices = space_.use_fewer ? stages : space_.devices; devices <= space_.devices; ++devices) {
      sum += completions(stages, space_.layers, devices);
    }
  }
  return sum;
}

double SpaceCount::completions(std::size_t stages, std::size_t layers, std::size_t devices) const {
  if (stages == 0) return layers == 0 && devices == 0 ? 1.0 : 0.0;
  return layers < stages ? 0.0 : binomial(layers - 1, stages - 1) * assignments_[stages][devices];
}

}  // namespace stagecraft::exhaustive
