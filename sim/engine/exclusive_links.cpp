#include "sim/engine/exclusive_links.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {

ExclusiveLinks::ExclusiveLinks(const Platform& platform) : platform_(platform) {
  const auto is_exclusive = [](const Link& link) { return link.sharing == Sharing::Exclusive; };
  if (std::ranges::any_of(platform.links, is_exclusive)) links_.resize(platform.links.size());
}

bool ExclusiveLinks::find(std::uint64_t op, const Op& what) {
  if (!crosses_links(what)) return false;
  STAGECRAFT_CHECK(find_route(platform_, what.from, what.to, what.leg, route_), "a transfer's places are connected");
  std::vector<LinkId> links;
  for (LinkId link : route_.links) {
    const bool is_listed = std::ranges::find(links, link) != links.end();
    if (platform_.links[link].sharing == Sharing::Exclusive && !is_listed) links.push_back(link);
  }
  if (links.empty()) return false;
  needed_.emplace(op, std::move(links));
  return true;
}

void ExclusiveLinks::abandon() {
  needed_.clear();
  for (Resource& link : links_) link.abandon();
}

void ExclusiveLinks::append(std::uint64_t op, std::vector<Resource*>& resources) {
  const auto found = needed_.find(op);
  if (found == needed_.end()) return;
  for (LinkId link : found->second) resources.push_back(&links_[link.value()]);
}

}  // namespace stagecraft
