#include "sim/engine/link_traffic.hpp"

#include <cmath>
#include <cstddef>

namespace stagecraft {

std::vector<LinkReport> LinkTraffic::report(const Platform& platform, const MeasuredSums& sums, Seconds window) const {
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
    const double amount = bytes[link.value()];
    if (amount <= 0.0) continue;
    const double capacity = platform.links[link].bandwidth.value() * window.value();
    links.push_back({link, Bytes(std::llround(amount)), capacity > 0.0 ? amount / capacity : 0.0});
  }
  return links;
}

}  // namespace stagecraft
