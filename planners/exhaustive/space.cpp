#include "planners/exhaustive/space.hpp"

#include <algorithm>
#include <utility>

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
  assignments_.emplace_back(space.devices + 1, 0.0).front() = 1.0;
  const std::size_t most = std::min(space.layers, space.devices);
  while (assignments_.size() <= most && total_ <= kMost) add_stage();
}

/// Computes assignments_[stages] from assignments_[stages - 1]: the last of the stages takes `replicas` devices.
void SpaceCount::add_stage() {
  const std::size_t stages = assignments_.size();
  std::vector<double> row(space_.devices + 1, 0.0);
  for (std::size_t devices = stages; devices <= space_.devices; ++devices) {
    for (std::size_t replicas = 1; replicas <= devices; ++replicas) {
      row[devices] += static_cast<double>(space_.ways(replicas)) * assignments_.back()[devices - replicas];
    }
  }
  assignments_.push_back(std::move(row));
  for (std::size_t devices = space_.use_fewer ? stages : space_.devices; devices <= space_.devices; ++devices) {
    total_ += completions(stages, space_.layers, devices);
  }
}

double SpaceCount::completions(std::size_t stages, std::size_t layers, std::size_t devices) const {
  if (stages == 0) return layers == 0 && devices == 0 ? 1.0 : 0.0;
  return layers < stages ? 0.0 : binomial(layers - 1, stages - 1) * assignments_[stages][devices];
}

}  // namespace stagecraft::exhaustive
