#include "sim/replay/ways.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <limits>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::uint32_t kNotInNetwork = std::numeric_limits<std::uint32_t>::max();

std::vector<LinkId> each_once(const std::vector<LinkId>& route) {
  std::vector<LinkId> links;
  for (LinkId link : route) {
    if (std::ranges::find(links, link) == links.end()) links.push_back(link);
  }
  return links;
}

}  // namespace

Ways::Ways(const Platform& platform, const Events& events, FlowNetwork& network)
    : platform_(platform),
      network_(network),
      changes_(platform.links.size(), 0),
      fails_(platform.links.size(), 0),
      network_link_(platform.links.size(), kNotInNetwork) {
  bandwidths_.reserve(platform.links.size());
  for (const Link& link : platform.links) bandwidths_.push_back(link.bandwidth);
  for (const Event& event : events) {
    if (const auto* change = std::get_if<BandwidthChange>(&event.change)) {
      changes_[change->link.value()] = 1;
      bandwidths_change_ = true;
    } else if (const auto* failure = std::get_if<LinkFailure>(&event.change)) {
      changes_[failure->link.value()] = fails_[failure->link.value()] = 1;
    }
  }
}

const Way& Ways::of(const Op& transfer) {
  const std::uint64_t key = route_key(transfer);
  if (key == last_key_) return *last_;
  const auto [found, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(ways_.size()));
  if (is_new) ways_.push_back(find_way(transfer));
  last_key_ = key;
  last_ = &ways_[found->second];
  return *last_;
}

Way Ways::find_way(const Op& transfer) {
  STAGECRAFT_CHECK(find_route(platform_, transfer.from, transfer.to, transfer.leg, route_),
                   "a transfer's places are connected");
  Way way;
  way.links = each_once(route_.links);
  way.latency = route_.latency;
  way.narrowest = narrowest(way.links);
  for (LinkId link : shared_links(way.links)) way.shared.push_back(network_link(link));
  way.may_fail = std::ranges::any_of(way.links, [&](LinkId link) { return fails_[link.value()] != 0; });
  return way;
}

/// The links of a route that its flows cross in the network; the others are left out (see `Ways`).
std::vector<LinkId> Ways::shared_links(const std::vector<LinkId>& route) const {
  if (std::ranges::any_of(route, [&](LinkId link) { return changes_[link.value()] != 0; })) return route;
  BytesPerSecond narrowest_fair(0.0);
  for (LinkId id : route) {
    const Link& link = platform_.links[id];
    if (link.sharing != Sharing::Fair || !stays(link)) continue;
    if (narrowest_fair == BytesPerSecond(0.0) || link.bandwidth < narrowest_fair) narrowest_fair = link.bandwidth;
  }
  std::vector<LinkId> shared;
  for (LinkId id : route) {
    const Link& link = platform_.links[id];
    if (link.sharing == Sharing::Fair ? stays(link) : link.bandwidth < narrowest_fair) shared.push_back(id);
  }
  return shared;
}

/// Whether a fair link is kept in the network: it may be a bottleneck, or bandwidths change.
bool Ways::stays(const Link& link) const { return bandwidths_change_ || link.bandwidth < link.load_limit; }

BytesPerSecond Ways::narrowest(const std::vector<LinkId>& links) const {
  BytesPerSecond smallest = bandwidths_[links.front().value()];
  for (LinkId link : links) smallest = std::min(smallest, bandwidths_[link.value()]);
  return smallest;
}

std::uint32_t Ways::network_link(LinkId link) {
  std::uint32_t& number = network_link_[link.value()];
  if (number == kNotInNetwork) number = network_.add_link(bandwidths_[link.value()]);
  return number;
}

void Ways::set_bandwidth(LinkId link, BytesPerSecond bandwidth) {
  bandwidths_[link.value()] = bandwidth;
  const std::uint32_t number = network_link_[link.value()];
  if (number != kNotInNetwork) network_.set_bandwidth(number, bandwidth);
  for (Way& way : ways_) way.narrowest = narrowest(way.links);
}

}  // namespace stagecraft
