#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/exchange.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/platform_groups.hpp"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {

/// The times of exchanges among the members of one group, if nothing else uses their links (`exchange_time`). Hidden
/// exchanges take no time, nor do those of a single member; of one that runs beside a computation the rest counts.
/// Exchanges of a kind and of equally many bytes are looked at once.
/// **Requires** a group of `degrees.devices()`, in the order of ranks, and as `exchange_phases`.
class ExchangeClock {
 public:
  /// `platform` must outlive it.
  ExchangeClock(const Platform& platform, Group group, const Degrees& degrees)
      : platform_(&platform), group_(std::move(group)), degrees_(degrees) {}

  [[nodiscard]] Seconds time(const Exchange& exchange);
  /// One after the other.
  [[nodiscard]] Seconds time(const std::vector<Exchange>& exchanges);

 private:
  const Platform* platform_;
  Group group_;
  Degrees degrees_;
  std::map<std::tuple<Exchange::Kind, Exchange::Among, Bytes>, Seconds> known_;
};

/// The time of an all-reduce among all members of a group, by which groups are compared.
[[nodiscard]] Seconds all_reduce_in(const Platform& platform, const Group& group, Bytes bytes);

/// The group whose all-reduces take longest: the first of those that take equally long.
/// **Requires** the groups of `whole`, of any size.
/// **Cost** an all-reduce for each group that lies on several nodes, and for each place of a group in a node of each
/// kind.
[[nodiscard]] Group slowest_group(const PlatformGroups& groups, const Platform& whole);

}  // namespace stagecraft
