#include "sim/engine/link_traffic.hpp"

#include <cstddef>

namespace stagecraft {

std::vector<LinkReport> LinkTraffic::report(const Platform& platform, const MeasuredSums& sums) const {
  std::vector<double> bytes(platform.links.size());
  Route route;
  for (std::size_t i = 0; i < accounts_.size(); ++i) {
    const double amount = sums.sum(accounts_[i]);
    const auto& [from, to, leg] = pairs_.items()[i];
    if (amount <= 0.0 || !find_route(platform, from, to, leg, route)) continue;
    for (LinkId link : route.links) bytes[link.value()] += amount;
  }
  std::vector<LinkReport> links;
  for (LinkId link : indices(platform.links)) {
    if (bytes[link.value()] > 0.0) links.push_back({link, bytes[link.value()]});
  }
  return links;
}

}  // namespace stagecraft
