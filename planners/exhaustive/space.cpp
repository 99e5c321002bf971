#include "planners/exhaustive/space.hpp"

#include "planners/shared/costs/work.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace stagecraft::exhaustive {
namespace {

/// Choices of stages that are looked at to count a space.
constexpr double kMostCounted = 2e7;

double binomial(std::size_t n, std::size_t k) {
  if (k > n) return 0.0;
  double value = 1.0;
  for (std::size_t i = 1; i <= std::min(k, n - k); ++i)
    value = value * static_cast<double>(n + 1 - i) / static_cast<double>(i);
  return value;
}

/// Pairs of devices that are free before and after a stage, at most, for all numbers of stages and devices.
double choices_to_count(const Space& space, std::size_t most) {
  double pairs = 1.0;
  for (const NodeRuns& node : space.nodes) {
    for (const std::size_t size : node.sizes) pairs *= static_cast<double>((size + 1) * (size + 2)) / 2.0;
  }
  return pairs * static_cast<double>(most) * static_cast<double>(space.devices());
}

/// Whether only the number of devices that a node has left matters to how many plans there are, up to those wanted.
bool is_alone(const std::vector<NodeRuns>& nodes, std::size_t node) {
  return !nodes[node].is_like_last && (node + 1 == nodes.size() || !nodes[node + 1].is_like_last);
}

}  // namespace

std::size_t Space::devices() const {
  std::size_t count = 0;
  for (const NodeRuns& node : nodes) {
    for (const std::size_t size : node.sizes) count += size;
  }
  return count;
}

std::size_t Space::ways(std::size_t replicas) const {
  if (replicas == 1) return 1;
  return (round_robin ? 1U : 0U) + (replicas <= most_split ? 1U : 0U);
}

SpaceCount::SpaceCount(const Space& space) : space_(space) {
  const std::size_t devices = space.devices();
  const std::size_t most = std::min(space.layers, devices);
  const FreeDevices free = all_free(space.nodes);
  if (free.left.size() > 1) {
    require_affordable({.what = "counting the plans on any of " + std::to_string(devices) + " devices",
                        .steps = choices_to_count(space, most),
                        .remedy = "plan for fewer devices, or with devices=order"},
                       {.steps = kMostCounted});
  }
  for (std::size_t stages = 1; stages <= most && total_ <= kMost; ++stages) {
    for (std::size_t used = space.use_fewer ? stages : devices; used <= devices; ++used) {
      total_ += completions(stages, space.layers, used, free);
    }
  }
}

double SpaceCount::completions(std::size_t stages, std::size_t layers, std::size_t devices,
                               const FreeDevices& free) const {
  if (stages == 0) return layers == 0 && devices == 0 && may_stay(free) ? 1.0 : 0.0;
  return layers < stages ? 0.0 : binomial(layers - 1, stages - 1) * assignments(stages, devices, free);
}

/// Ways to give the stages exactly these devices.
double SpaceCount::assignments(std::size_t stages, std::size_t devices, FreeDevices free) const {
  if (stages == 0) return devices == 0 && may_stay(free) ? 1.0 : 0.0;
  std::size_t run = 0;
  for (std::size_t node = 0; node < space_.nodes.size(); ++node) {
    for (std::size_t i = 0; i < space_.nodes[node].sizes.size(); ++i, ++run) {
      if (is_alone(space_.nodes, node)) free.left[run] = std::min(free.left[run], devices);
    }
  }
  const std::uint64_t own = key(stages, devices, free);
  if (const auto found = counted_.find(own); found != counted_.end()) return found->second;
  double sum = 0.0;
  for (std::size_t replicas = 1; replicas + stages <= devices + 1; ++replicas) {
    const std::size_t ways = space_.ways(replicas);
    if (ways == 0 || (stages == 1 && replicas < devices)) continue;
    for_each_choice(space_.nodes, free, replicas, [&](const FreeDevices& after) {
      sum += static_cast<double>(ways) * assignments(stages - 1, devices - replicas, after);
    });
  }
  counted_.emplace(own, sum);
  return sum;
}

/// A number of its own for each state: all digits in one, each with as many values as there can be.
std::uint64_t SpaceCount::key(std::size_t stages, std::size_t devices, const FreeDevices& free) const {
  std::uint64_t number = stages * (space_.devices() + 1) + devices;
  std::size_t run = 0;
  for (std::size_t node = 0; node < space_.nodes.size(); ++node) {
    for (const std::size_t size : space_.nodes[node].sizes) number = number * (size + 1) + free.left[run++];
    if (space_.nodes[node].is_like_last) number = 2 * number + static_cast<std::uint64_t>(free.owes[node]);
  }
  return number;
}

}  // namespace stagecraft::exhaustive
