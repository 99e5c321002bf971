#include "sim/model/explicit_nics.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

/// A way of a device to another node.
struct WayOut {
  BytesPerSecond width{0};
  std::size_t length = 0;
  LinkId narrowest = LinkId::none();
};

WayOut way_over(const Platform& platform, const std::vector<LinkId>& links) {
  const LinkId narrowest =
      *std::ranges::min_element(links, {}, [&](LinkId link) { return platform.links[link].bandwidth; });
  return {platform.links[narrowest].bandwidth, links.size(), narrowest};
}

/// Both directions of a link, by the first of them.
LinkId both_directions(const std::vector<LinkRow>& rows, LinkId link) {
  return std::prev(std::ranges::upper_bound(rows, link, {}, &LinkRow::first))->first;
}

}  // namespace

void number_nics(Platform& platform, const std::vector<LinkRow>& rows) {
  std::map<DeviceId, WayOut> best;
  for (const auto& [pair, links] : platform.routes) {
    if (platform.devices[pair.first].node == platform.devices[pair.second].node) continue;
    const WayOut way = way_over(platform, links);
    WayOut& known = best[pair.first];
    const bool is_shorter = way.width == known.width && way.length < known.length;
    if (way.width > known.width || is_shorter) known = way;
  }
  std::map<NodeId, std::map<LinkId, std::uint32_t>> nics;
  for (const auto& [id, way] : best) {
    Device& device = platform.devices[id];
    auto& of_node = nics[device.node];
    const auto number = static_cast<std::uint32_t>(of_node.size());
    device.nic = of_node.try_emplace(both_directions(rows, way.narrowest), number).first->second;
  }
}

}  // namespace stagecraft
