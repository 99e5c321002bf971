#include "sim/schedule/all_reduce.hpp"

#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace stagecraft {
namespace {

using Members = std::vector<DeviceId>;

/// The members node by node, in the order of the ring; none if the ring enters a node twice or nothing is known of
/// nodes.
std::vector<Members> members_by_node(const Platform& platform, const Members& members) {
  std::vector<Members> nodes;
  std::set<NodeId> seen;
  for (DeviceId member : members) {
    const NodeId node = platform.devices[member].node;
    if (node.is_none()) return {};
    const bool goes_on = !nodes.empty() && platform.devices[nodes.back().back()].node == node;
    if (!goes_on && !seen.insert(node).second) return {};
    if (!goes_on) nodes.emplace_back();
    nodes.back().push_back(member);
  }
  return nodes;
}

/// Whether all nodes of the platform have a card for each device.
bool has_a_card_each(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  if (form == nullptr) return false;
  return std::ranges::all_of(form->groups, [&](const NodeGroup& group) {
    const NodeKind& kind = form->node_kinds[group.kind];
    return kind.nic && kind.nic->per_device;
  });
}

std::int64_t rings_over(const Platform& platform, const std::vector<Members>& nodes) {
  if (nodes.size() < 2) return 1;
  const auto smaller = [](const Members& a, const Members& b) { return a.size() < b.size(); };
  const auto least = static_cast<std::int64_t>(std::ranges::min_element(nodes, smaller)->size());
  const std::int64_t cards = has_a_card_each(platform) ? least : 1;
  return std::min(platform.spec.collectives.rings.value_or(cards), least);
}

/// Appends the flows of a ring in which each connection carries `part` of `of`.
void append_ring(const Members& ring, std::int64_t part, std::int64_t of, std::vector<AllReduceFlow>& flows) {
  for (std::size_t i = 0; i < ring.size(); ++i) flows.push_back({ring[i], ring[(i + 1) % ring.size()], part, of});
}

AllReduce rings(const Members& members, const std::vector<Members>& nodes, std::int64_t count) {
  const auto n = static_cast<std::int64_t>(members.size());
  AllReducePhase phase{2 * (n - 1), {}};
  for (std::int64_t ring = 0; ring < count; ++ring) {
    Members order = members;
    auto at = order.begin();
    for (const Members& node : nodes) {
      const auto end = at + static_cast<std::ptrdiff_t>(node.size());
      std::rotate(at, at + static_cast<std::ptrdiff_t>(node.size()) * ring / count, end);
      at = end;
    }
    append_ring(order, 2 * (n - 1), n * count, phase.flows);
  }
  return {{std::move(phase)}};
}

/// None if the nodes have not equally many members, at least two.
std::optional<AllReduce> hierarchical(const std::vector<Members>& nodes) {
  if (nodes.size() < 2 || nodes.front().size() < 2) return std::nullopt;
  const std::size_t in_node = nodes.front().size();
  if (!std::ranges::all_of(nodes, [&](const Members& node) { return node.size() == in_node; })) return std::nullopt;
  const auto g = static_cast<std::int64_t>(in_node);
  const auto k = static_cast<std::int64_t>(nodes.size());
  AllReducePhase inside{g - 1, {}};
  for (const Members& node : nodes) append_ring(node, g - 1, g, inside.flows);
  AllReducePhase across{2 * (k - 1), {}};
  for (std::size_t rank = 0; rank < in_node; ++rank) {
    Members ring;
    for (const Members& node : nodes) ring.push_back(node[rank]);
    append_ring(ring, 2 * (k - 1), k * g, across.flows);
  }
  return AllReduce{{inside, std::move(across), inside}};
}

Route route_of(const Platform& platform, const AllReduceFlow& flow) {
  Route route;
  if (flow.from == flow.to) return route;
  STAGECRAFT_CHECK(find_route(platform, platform.place(flow.from), platform.place(flow.to), route),
                   "replicas of a sound plan are connected");
  return route;
}

/// The time of all phases, with latencies, where flows of a phase divide the links that they share.
Seconds time_when_sharing(const Platform& platform, const AllReduce& all_reduce, Bytes bytes) {
  Seconds sum;
  for (const AllReducePhase& phase : all_reduce.phases) {
    std::map<LinkId, Seconds> loads;
    Seconds latency;
    Seconds longest;
    for (const AllReduceFlow& flow : phase.flows) {
      const Route route = route_of(platform, flow);
      latency = std::max(latency, route.latency);
      for (LinkId link : route.links) {
        Seconds& load = loads[link];
        load += flow_bytes(platform, flow, Bytes(0), bytes) / platform.links[link].bandwidth;
        longest = std::max(longest, load);
      }
    }
    sum += latency * static_cast<double>(phase.steps) + longest;
  }
  return sum;
}

}  // namespace

AllReduce all_reduce(const Platform& platform, const Members& members, Bytes bytes) {
  using Algorithm = CollectiveSpec::Algorithm;
  const Algorithm algorithm = platform.spec.collectives.algorithm;
  const std::vector<Members> nodes = members_by_node(platform, members);
  AllReduce ring = rings(members, nodes, rings_over(platform, nodes));
  if (algorithm == Algorithm::Ring) return ring;
  if (algorithm == Algorithm::Auto && !has_a_card_each(platform)) return ring;
  std::optional<AllReduce> other = hierarchical(nodes);
  if (!other) return ring;
  if (algorithm == Algorithm::Hierarchical) return *std::move(other);
  const bool is_faster = time_when_sharing(platform, *other, bytes) < time_when_sharing(platform, ring, bytes);
  return is_faster ? *std::move(other) : ring;
}

Bytes flow_bytes(const Platform& platform, const AllReduceFlow& flow, Bytes begin, Bytes end) {
  const Bytes own = share_up(end, flow.part, flow.of) - share_up(begin, flow.part, flow.of);
  return scale_up(own, 1.0 / platform.spec.collectives.efficiency);
}

Seconds latency_before(const Platform& platform, const AllReducePhase& phase) {
  Seconds latency;
  for (const AllReduceFlow& flow : phase.flows) latency = std::max(latency, route_of(platform, flow).latency);
  return latency * static_cast<double>(phase.steps - 1);
}

std::int64_t rings_of(const Platform& platform, const Members& members) {
  return rings_over(platform, members_by_node(platform, members));
}

std::optional<Seconds> tabulated_all_reduce(const Platform& platform, std::size_t members, Bytes bytes) {
  const auto& table = platform.spec.collectives.table;
  if (table.empty()) return std::nullopt;
  const auto above = std::ranges::lower_bound(table, bytes, {}, [](const auto& row) { return row.first; });
  BytesPerSecond bandwidth = above == table.end() ? table.back().second : above->second;
  if (above != table.begin() && above != table.end()) {
    const auto& [size, lower] = *(above - 1);
    const double part =
        static_cast<double>((bytes - size).value()) / static_cast<double>((above->first - size).value());
    bandwidth = BytesPerSecond(lower.value() + part * (above->second.value() - lower.value()));
  }
  const auto n = static_cast<double>(members);
  return bytes / bandwidth * (2.0 * (n - 1.0) / n);
}

Seconds all_reduce_time(const Platform& platform, const Members& members, Bytes bytes) {
  if (const auto tabulated = tabulated_all_reduce(platform, members.size(), bytes)) return *tabulated;
  Seconds sum;
  for (const AllReducePhase& phase : all_reduce(platform, members, bytes).phases) {
    Seconds longest;
    for (const AllReduceFlow& flow : phase.flows) {
      for (LinkId link : route_of(platform, flow).links) {
        const double part = static_cast<double>(flow.part) / static_cast<double>(flow.of);
        const double effective = platform.links[link].bandwidth.value() * platform.spec.collectives.efficiency;
        longest = std::max(longest, bytes / BytesPerSecond(effective) * part);
      }
    }
    sum += longest;
  }
  return sum;
}

Seconds lowered_all_reduce_time(const Platform& platform, const Members& members, Bytes begin, Bytes end) {
  if (const auto tabulated = tabulated_all_reduce(platform, members.size(), end - begin)) return *tabulated;
  Seconds sum;
  for (const AllReducePhase& phase : all_reduce(platform, members, end - begin).phases) {
    Seconds longest;
    for (const AllReduceFlow& flow : phase.flows) {
      const Route route = route_of(platform, flow);
      const auto bandwidth = narrowest_bandwidth(platform, route);
      const Bytes bytes = flow_bytes(platform, flow, begin, end);
      longest = std::max(longest, route.latency + (bandwidth ? bytes / *bandwidth : Seconds()));
    }
    sum += latency_before(platform, phase) + longest;
  }
  return sum;
}

Seconds analytic_all_reduce(const Platform& platform, const Members& members, Bytes bytes, Bytes flow,
                            BytesPerSecond slowest_pair) {
  if (const auto tabulated = tabulated_all_reduce(platform, members.size(), bytes)) return *tabulated;
  const auto rings = static_cast<double>(rings_of(platform, members));
  return flow / BytesPerSecond(slowest_pair.value() * rings * platform.spec.collectives.efficiency);
}

}  // namespace stagecraft
