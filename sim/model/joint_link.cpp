#include "sim/model/joint_link.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft {
namespace {

constexpr BytesPerSecond kNoLink{1e15};  ///< between places whose way crosses no link

/// The least that a link leaves to each of the ways that cross it, which are as many as it is there.
BytesPerSecond least_share(const Platform& platform, std::vector<LinkId> crossed) {
  std::ranges::sort(crossed);
  BytesPerSecond least = kNoLink;
  for (std::size_t first = 0; first < crossed.size();) {
    std::size_t end = first;
    while (end < crossed.size() && crossed[end] == crossed[first]) ++end;
    least = std::min(least, platform.links[crossed[first]].bandwidth / static_cast<double>(end - first));
    first = end;
  }
  return least;
}

}  // namespace

std::optional<LinkSpec> joint_link(const Platform& platform, const JointWays& ways) {
  LinkSpec link{kNoLink, Seconds(0)};
  Route route;
  for (const bool is_back : {false, true}) {
    std::vector<LinkId> crossed;
    for (const auto& [from, to] : ways) {
      if (!find_route(platform, is_back ? to : from, is_back ? from : to, route)) return std::nullopt;
      link.latency = std::max(link.latency, route.latency);
      crossed.insert(crossed.end(), route.links.begin(), route.links.end());
    }
    link.bandwidth = std::min(link.bandwidth, least_share(platform, std::move(crossed)));
  }
  return link;
}

}  // namespace stagecraft
