#include "sim/schedule/exchange_time.hpp"

#include "sim/base/error.hpp"
#include "sim/schedule/exchange_phases.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

namespace stagecraft {
namespace {

/// By which groups are compared: large enough for bandwidths to count, and small enough for latencies.
constexpr Bytes kCompared{std::int64_t{64} << 20};

/// Where a group lies, if others in the same place of nodes of the same kind are like it; none if it lies on several
/// nodes, or if nothing is known of kinds of nodes.
std::optional<std::pair<NodeKindId, std::uint32_t>> place_in_node(const Platform& platform, const Group& group) {
  const NodeId node = platform.devices[group.lead()].node;
  if (node.is_none() || platform.nodes.empty()) return std::nullopt;
  const auto is_there = [&](DeviceId member) { return platform.devices[member].node == node; };
  if (!std::ranges::all_of(group.devices, is_there)) return std::nullopt;
  const Node& there = platform.nodes[node];
  return std::pair(there.kind, group.lead().value() - there.first_device.value());
}

}  // namespace

Seconds ExchangeClock::time(const Exchange& exchange) {
  if (exchange.hidden) return {};
  const auto [known, is_new] = known_.try_emplace({exchange.kind, exchange.among, exchange.bytes});
  if (is_new) {
    const MemberRings sets = exchanging(group_, degrees_, exchange.among);
    if (sets.front().size() > 1) known->second = exchange_time(*platform_, sets, exchange.kind, exchange.bytes);
  }
  const double waited = waited_part(*platform_, exchange) * static_cast<double>(exchange.count);
  return std::max(known->second - exchange.beside, Seconds()) * waited;
}

Seconds ExchangeClock::time(const std::vector<Exchange>& exchanges) {
  Seconds sum;
  for (const Exchange& exchange : exchanges) sum += time(exchange);
  return sum;
}

Seconds all_reduce_in(const Platform& platform, const Group& group, Bytes bytes) {
  if (group.is_alone()) return {};
  return exchange_time(platform, MemberRings{group.devices}, Exchange::Kind::AllReduce, bytes);
}

Group slowest_group(const PlatformGroups& groups, const Platform& whole) {
  std::set<std::pair<NodeKindId, std::uint32_t>> seen;
  const Group* slowest = nullptr;
  Seconds longest;
  for (const Group& group : groups.groups) {
    const auto place = place_in_node(whole, group);
    if (place && !seen.insert(*place).second) continue;
    const Seconds time = all_reduce_in(whole, group, kCompared);
    if (slowest != nullptr && time <= longest) continue;
    slowest = &group;
    longest = time;
  }
  STAGECRAFT_CHECK(slowest != nullptr, "a platform has devices");
  return *slowest;
}

}  // namespace stagecraft
