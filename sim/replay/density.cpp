#include "sim/replay/density.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft {
namespace {

// Measured with SimGrid 3.32: up to some hundred connected transfers both methods take the same time; with thousands,
// computing all rates is two to eight times faster; if transfers fall into small groups, it is 14 times slower.
constexpr std::size_t kManyTransfers = 256;

/// The representative of a link's group (union-find with path halving).
std::uint32_t representative(std::vector<std::uint32_t>& parent, std::uint32_t link) {
  while (parent[link] != link) link = parent[link] = parent[parent[link]];
  return link;
}

}  // namespace

std::size_t largest_group(std::span<const std::span<const std::uint32_t>> routes) {
  std::uint32_t link_count = 0;
  for (const auto& route : routes) {
    for (std::uint32_t link : route) link_count = std::max(link_count, link + 1);
  }
  std::vector<std::uint32_t> parent(link_count);
  std::iota(parent.begin(), parent.end(), 0U);
  for (const auto& route : routes) {
    for (std::uint32_t link : route) parent[representative(parent, link)] = representative(parent, route.front());
  }
  std::vector<std::size_t> members(link_count);
  std::size_t largest = 0;
  for (const auto& route : routes) {
    if (!route.empty()) largest = std::max(largest, ++members[representative(parent, route.front())]);
  }
  return largest;
}

bool is_dense(std::span<const std::span<const std::uint32_t>> routes) {
  const std::size_t largest = largest_group(routes);
  return largest >= kManyTransfers && 2 * largest >= routes.size();
}

}  // namespace stagecraft
