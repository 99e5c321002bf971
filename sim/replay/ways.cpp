#include "sim/replay/ways.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <variant>

namespace stagecraft {
namespace {

constexpr std::size_t kPairsPerLink = 30;  // looking at so many pairs costs about what one link in the network does

std::vector<LinkId> each_once(const std::vector<LinkId>& route) {
  std::vector<LinkId> links;
  for (LinkId link : route) {
    if (std::ranges::find(links, link) == links.end()) links.push_back(link);
  }
  return links;
}

}  // namespace

Ways::Ways(const Platform& platform, const Events& events, std::span<const DeviceId> used)
    : platform_(platform), changes_(platform.links.size(), 0), network_link_(platform.links.size(), kNotInNetwork) {
  for (const Link& link : platform.links) bandwidths_.push_back(link.bandwidth);
  for (const Event& event : events) {
    if (const auto* change = std::get_if<BandwidthChange>(&event.change)) changes_[change->link.value()] = 1;
  }
  if (!used.empty() && used.size() * used.size() < kPairsPerLink * platform.links.size()) {
    enter_links_of(used);
  } else {
    for (LinkId link : indices(platform.links)) enter_network(link);
  }
}

void Ways::enter_network(LinkId link) {
  std::uint32_t& number = network_link_[link.value()];
  if (number != kNotInNetwork) return;
  number = static_cast<std::uint32_t>(network_bandwidths_.size());
  network_bandwidths_.push_back(platform_.links[link].bandwidth);
}

void Ways::enter_links_of(std::span<const DeviceId> used) {
  const auto enter = [&](PlaceId from, PlaceId to) {
    if (from == to || !find_route(platform_, from, to, route_)) return;
    for (LinkId link : shared_links(each_once(route_.links))) enter_network(link);
  };
  for (DeviceId a : used) {
    for (DeviceId b : used) enter(platform_.place(a), platform_.place(b));
    const HostId host = platform_.devices[a].host;
    if (host.is_none()) continue;
    enter(platform_.place(a), platform_.place(host));
    enter(platform_.place(host), platform_.place(a));
  }
}

/// Those links of a route that its flows cross in the network.
std::vector<LinkId> Ways::shared_links(const std::vector<LinkId>& route) const {
  if (std::ranges::any_of(route, [&](LinkId link) { return changes_[link.value()] != 0; })) return route;
  BytesPerSecond narrowest_fair(0.0);
  for (LinkId id : route) {
    const Link& link = platform_.links[id];
    if (link.sharing != Sharing::Fair) continue;
    if (narrowest_fair == BytesPerSecond(0.0) || link.bandwidth < narrowest_fair) narrowest_fair = link.bandwidth;
  }
  std::vector<LinkId> shared;
  for (LinkId id : route) {
    const Link& link = platform_.links[id];
    if (link.sharing == Sharing::Fair || link.bandwidth < narrowest_fair) shared.push_back(id);
  }
  return shared;
}

BytesPerSecond Ways::narrowest(const std::vector<LinkId>& links) const {
  BytesPerSecond smallest = bandwidths_[links.front().value()];
  for (LinkId link : links) smallest = std::min(smallest, bandwidths_[link.value()]);
  return smallest;
}

const Way& Ways::between(PlaceId from, PlaceId to) {
  const std::uint64_t key = (std::uint64_t{from.value()} << 32) | to.value();
  if (key == last_key_) return *last_;
  const auto [found, is_new] = index_.try_emplace(key, static_cast<std::uint32_t>(ways_.size()));
  if (is_new) {
    STAGECRAFT_CHECK(find_route(platform_, from, to, route_), "a transfer's places are connected");
    Way& way = ways_.emplace_back();
    way.links = each_once(route_.links);
    way.latency = route_.latency;
    way.narrowest = narrowest(way.links);
    for (LinkId link : shared_links(way.links)) {
      way.shared.push_back(network_link(link));
      STAGECRAFT_CHECK(way.shared.back() != kNotInNetwork, "a transfer's ends are places in use");
    }
  }
  last_key_ = key;
  last_ = &ways_[found->second];
  return *last_;
}

void Ways::set_bandwidth(LinkId link, BytesPerSecond bandwidth) {
  bandwidths_[link.value()] = bandwidth;
  for (Way& way : ways_) way.narrowest = narrowest(way.links);
}

}  // namespace stagecraft
