#include "sim/schedule/node_rings.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

using Members = std::vector<DeviceId>;

constexpr std::size_t kMostMembers = 16;  ///< no machine joins more by links between two of them in several rings

/// By two members: the bandwidth in each direction of the link that is theirs alone; 0 without one.
struct PairLinks {
  std::vector<std::vector<double>> bandwidths;
  bool are_half = false;  ///< whether both directions are one link
  double narrowest = std::numeric_limits<double>::infinity();
};

bool are_in_one_node(const Platform& platform, const Members& members) {
  const NodeId node = platform.devices[members.front()].node;
  const auto is_there = [&](DeviceId member) { return platform.devices[member].node == node; };
  return !node.is_none() && std::ranges::all_of(members, is_there);
}

/// The one link on the way between two devices of a node; null if there are several, or if one transfer after the
/// other uses it.
const Link* link_between(const Platform& platform, DeviceId from, DeviceId to, Route& route) {
  if (!find_route(platform, platform.place(from), platform.place(to), route) || route.links.size() != 1) return nullptr;
  const Link& link = platform.links[route.links.front()];
  return link.sharing == Sharing::Exclusive ? nullptr : &link;
}

/// None if a member has links with fewer than two others, as all have that hang on switches, or if two pairs share one.
std::optional<PairLinks> pair_links(const Platform& platform, const Members& members) {
  const std::size_t n = members.size();
  PairLinks links{std::vector(n, std::vector(n, 0.0))};
  Route route;
  std::set<const Link*> seen;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = i + 1; k < n; ++k) {
      const Link* there = link_between(platform, members[i], members[k], route);
      if (there == nullptr) continue;
      const Link* back = link_between(platform, members[k], members[i], route);
      links.are_half = back == there;
      if (!seen.insert(there).second || (!links.are_half && !seen.insert(back).second)) return std::nullopt;
      links.bandwidths[i][k] = links.bandwidths[k][i] = there->bandwidth.value();
      links.narrowest = std::min(links.narrowest, there->bandwidth.value());
    }
    if (std::ranges::count(links.bandwidths[i], 0.0) > std::ssize(members) - 2) return std::nullopt;
  }
  return links;
}

/// How often the narrowest link could be part of each link, times `parts`.
RingWidths widths_of(const PairLinks& links, double parts) {
  RingWidths widths(links.bandwidths.size());
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (const double bandwidth : links.bandwidths[i]) {
      widths[i].push_back(static_cast<std::int64_t>(parts * bandwidth / links.narrowest));
    }
  }
  return widths;
}

/// All links are used as much as the rings ask of them, so the one that is asked most ends last.
NodeRings with_bandwidth(NodeRings rings, const PairLinks& links) {
  double longest = 0.0;  // seconds in which each ring passes on a byte
  for (std::size_t i = 0; i < rings.uses.size(); ++i) {
    for (std::size_t k = 0; k < rings.uses.size(); ++k) {
      if (rings.uses[i][k] == 0) continue;
      const auto uses = static_cast<double>(links.are_half ? 2 * rings.uses[i][k] : rings.uses[i][k]);
      longest = std::max(longest, uses / links.bandwidths[i][k]);
    }
  }
  rings.bandwidth = BytesPerSecond(static_cast<double>(rings.count) / longest);
  return rings;
}

/// As many rings as fit into the links, `most` of them and fewer, of an equal width: the narrowest link's over `parts`.
std::optional<NodeRings> packed(const PairLinks& links, std::int64_t most, int parts) {
  const std::vector<RingOrder> orders = pack_rings(widths_of(links, parts), static_cast<std::size_t>(most / 2));
  if (orders.empty()) return std::nullopt;
  const std::size_t n = links.bandwidths.size();
  NodeRings rings{2 * std::ssize(orders), RingWidths(n, std::vector<std::int64_t>(n)), {}};
  for (const RingOrder& order : orders) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t next = order[(i + 1) % n];
      ++rings.uses[order[i]][next];
      ++rings.uses[next][order[i]];
    }
  }
  return with_bandwidth(std::move(rings), links);
}

/// Where all members have links with all others, all equally wide, the rings in all orders together use each link
/// equally much. n - 1 rings do that too, or twice as many of half the width; which ones does not matter.
std::optional<NodeRings> in_all_orders(const PairLinks& links, std::int64_t most) {
  const std::int64_t count = std::ssize(links.bandwidths) - 1;
  const auto is_equal = [&](const std::vector<double>& row) {
    return std::ranges::count(row, links.narrowest) == count;
  };
  if (count > most || !std::ranges::all_of(links.bandwidths, is_equal)) return std::nullopt;
  return with_bandwidth({count, widths_of(links, 1.0), {}}, links);
}

}  // namespace

std::optional<NodeRings> node_rings(const Platform& platform, const Members& members) {
  const std::int64_t most = platform.spec.collectives.rings.value_or(std::numeric_limits<std::int64_t>::max());
  if (most == 1 || members.size() < 3 || members.size() > kMostMembers) return std::nullopt;
  if (!are_in_one_node(platform, members)) return std::nullopt;
  const std::optional<PairLinks> links = pair_links(platform, members);
  if (!links) return std::nullopt;
  std::optional<NodeRings> best = in_all_orders(*links, most);
  if (!best) {
    best = packed(*links, most, 1);
    std::optional<NodeRings> halves = packed(*links, most, 2);
    if (halves && (!best || halves->bandwidth > best->bandwidth)) best = std::move(halves);
  }
  const bool are_faster = best && best->bandwidth > BytesPerSecond(links->narrowest);
  return are_faster ? best : std::nullopt;
}

}  // namespace stagecraft
