#pragma once

#include "sim/model/exchange.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// What one member of an all-reduce sends to another: `part` of `of` of the bytes.
struct AllReduceFlow {
  DeviceId from;
  DeviceId to;
  std::int64_t part = 0;
  std::int64_t of = 1;
  friend bool operator==(const AllReduceFlow&, const AllReduceFlow&) = default;
};

/// Flows that run at the same time, and that all end before the next phase begins.
struct AllReducePhase {
  std::int64_t steps = 0;  ///< each takes the latency of its slowest hop
  std::vector<AllReduceFlow> flows;
  Seconds latency = {};  ///< that passes before, besides that of the hops: of the collective, in its first phase
  friend bool operator==(const AllReducePhase&, const AllReducePhase&) = default;
};

/// How an all-reduce runs.
///
/// In a *ring* of n members there are 2 (n - 1) steps, in which 2 (n - 1) / n of the bytes cross each connection
/// between neighbours. Members on several nodes with NICs of the devices form several rings, each with its share of
/// the bytes: the order inside each node is rotated, so that every ring enters and leaves the node over NICs of its
/// own. Members of one node with links between two of them form several rings too (`NodeRings`); a flow then has what
/// all of them send from one member to another.
///
/// *Hierarchical*: the members of each node first divide the sum among themselves (reduce-scatter), then those with the
/// same part form a ring across the nodes, then the members of each node exchange their parts (all-gather).
/// **Source** P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", JPDC 2009.
struct AllReduce {
  std::vector<AllReducePhase> phases;
  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};

/// The all-reduce of `bytes` among the members, whose order is that of the ring, with the platform's `collectives`.
/// Automatic: the faster one, where the flows of a phase share their links. A ring that enters a node twice stays one
/// ring. Only nodes with equally many members, at least two, are reduced hierarchically, in whatever order the ring has
/// them.
/// **Requires** at least two members whose neighbours are connected.
[[nodiscard]] AllReduce all_reduce(const Platform& platform, const std::vector<DeviceId>& members, Bytes bytes);

/// The members of rings that run at the same time, each with as many bytes.
using MemberRings = std::vector<std::vector<DeviceId>>;

/// The all-reduces of `bytes` in each of the rings, phase by phase at the same time.
/// **Requires** at least one ring, and as `all_reduce` of each.
[[nodiscard]] AllReduce all_reduce(const Platform& platform, const MemberRings& rings, Bytes bytes);

/// What an exchange of that kind in the rings takes beside its flows, by the platform's `collectives`: once its latency
/// for an all-reduce, twice where members of a ring are on several nodes, and half of that for any other kind.
[[nodiscard]] Seconds collective_latency(const Platform& platform, const MemberRings& rings, Exchange::Kind kind);

/// The part of an all-reduce's time, where a formula gives it: 1, or 1/2 for a half of one.
[[nodiscard]] double part_of_all_reduce(Exchange::Kind kind);
/// The all-reduce, or the half of it that leaves each member its part of the sum, or that begins with the parts.
[[nodiscard]] AllReduce part_of(AllReduce whole, Exchange::Kind kind);

/// The time of all phases, one after the other, of [begin, end) of the gradients, if nothing else uses their links.
/// With latencies.
[[nodiscard]] Seconds lowered_time(const Platform& platform, const AllReduce& all_reduce, Bytes begin, Bytes end);

/// In how many rings the members exchange.
[[nodiscard]] std::int64_t rings_of(const Platform& platform, const std::vector<DeviceId>& members);

/// The time of an all-reduce of `bytes` by the platform's table of bandwidths; none without one. Between two sizes the
/// bandwidth is interpolated, outside the table it is that of the nearest size.
[[nodiscard]] std::optional<Seconds> tabulated_all_reduce(const Platform& platform, std::size_t members, Bytes bytes);

/// The time of an all-reduce of `bytes` in each of the rings, at the same time, if nothing else uses their links,
/// without latencies of links. 0 for rings of single devices, and for no bytes.
[[nodiscard]] Seconds all_reduce_time(const Platform& platform, const MemberRings& rings, Bytes bytes);

/// The time of an all-reduce of [begin, end) of the gradients in rings that run at the same time, or of the half of
/// that kind, as it is lowered on the platform's network, if nothing else uses its links. With latencies. 0 for rings
/// of single devices.
[[nodiscard]] Seconds lowered_time(const Platform& platform, const MemberRings& rings, Exchange::Kind kind, Bytes begin,
                                   Bytes end);

/// The same on the analytic network: each of its rings has the bandwidth of the slowest pair of members, and those
/// inside a node have that of their links. Between neighbours an all-reduce of all `bytes` has `flow` cross. With the
/// latency of the collective alone.
[[nodiscard]] Seconds analytic_time(const Platform& platform, const std::vector<DeviceId>& members, Exchange::Kind kind,
                                    Bytes bytes, Bytes flow, BytesPerSecond slowest_pair);

}  // namespace stagecraft
