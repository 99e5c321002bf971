#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/platform_groups.hpp"
#include "sim/schedule/all_reduce.hpp"

#include <map>
#include <utility>
#include <vector>

namespace stagecraft {

/// How an exchange of `bytes` runs among the members of a group: as an all-reduce, or as the half of one that leaves
/// each its part of the sum, or that begins with the parts.
/// **Requires** at least two members, in the order of the ring, whose neighbours are connected.
[[nodiscard]] AllReduce exchange_phases(const Platform& platform, const Group& group, Exchange::Kind kind, Bytes bytes);

/// The times of exchanges among the members of one group, if nothing else uses their links: all-reduces as they are
/// lowered, others half as long where the platform has a table of bandwidths. Hidden exchanges take no time, nor do
/// those of a single member. Exchanges of a kind and of equally many bytes are looked at once.
/// **Requires** as `exchange_phases`.
class ExchangeClock {
 public:
  /// `platform` must outlive it.
  ExchangeClock(const Platform& platform, Group group) : platform_(&platform), group_(std::move(group)) {}

  [[nodiscard]] Seconds time(const Exchange& exchange);
  /// One after the other.
  [[nodiscard]] Seconds time(const std::vector<Exchange>& exchanges);

 private:
  const Platform* platform_;
  Group group_;
  std::map<std::pair<Exchange::Kind, Bytes>, Seconds> known_;
};

/// The same of one exchange.
[[nodiscard]] Seconds exchange_time(const Platform& platform, const Group& group, const Exchange& exchange);

/// The group whose all-reduces take longest: the first of those that take equally long.
/// **Requires** the groups of `whole`, of any size.
/// **Cost** an all-reduce for each group that lies on several nodes, and for each place of a group in a node of each
/// kind.
[[nodiscard]] Group slowest_group(const PlatformGroups& groups, const Platform& whole);

}  // namespace stagecraft
