#include "sim/schedule/all_reduce.hpp"

#include "sim/base/error.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/schedule/flow_times.hpp"
#include "sim/schedule/node_rings.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

namespace stagecraft {
namespace {

using Members = std::vector<DeviceId>;

/// The members of each node, in the order of the ring.
struct ByNode {
  std::vector<Members> nodes;  ///< in the order in which the ring comes to them; none if nothing is known of nodes
  bool enters_once = true;     ///< whether the ring is in each node without a break, wherever it begins
};

ByNode members_by_node(const Platform& platform, const Members& members) {
  ByNode result;
  const auto node_of = [&](DeviceId member) { return platform.devices[member].node; };
  std::map<NodeId, std::size_t> positions;
  std::size_t entered = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NodeId node = node_of(members[i]);
    if (node.is_none()) return {};
    if (node != node_of(members[i == 0 ? members.size() - 1 : i - 1])) ++entered;
    const auto [position, is_new] = positions.emplace(node, result.nodes.size());
    if (is_new) result.nodes.emplace_back();
    result.nodes[position->second].push_back(members[i]);
  }
  result.enters_once = entered <= result.nodes.size();
  if (!result.enters_once || result.nodes.size() < 2) return result;
  // The ring may begin inside a node: its part before the others follows its part after them.
  Members& first = result.nodes.front();
  auto begin = members.size();
  while (node_of(members[begin - 1]) == node_of(members.front())) --begin;
  std::rotate(first.begin(), first.end() - static_cast<std::ptrdiff_t>(members.size() - begin), first.end());
  return result;
}

/// Whether NICs of the same number may hang on a switch of their own. The explicit form does not tell. Where they do
/// not, rings that stay with a number lose nothing.
bool may_be_rails(const Platform& platform) {
  const auto* form = std::get_if<NodeForm>(&platform.spec.form);
  return form == nullptr || std::holds_alternative<RailsNetwork>(form->network);
}

/// A node's members NIC by NIC, in the order in which the ring comes to these.
std::vector<Members> members_by_nic(const Platform& platform, const Members& node) {
  std::vector<Members> cards;
  std::map<std::uint32_t, std::size_t> positions;
  for (DeviceId member : node) {
    const auto [position, is_new] = positions.emplace(platform.devices[member].nic, cards.size());
    if (is_new) cards.emplace_back();
    cards[position->second].push_back(member);
  }
  return cards;
}

std::int64_t rings_over(const Platform& platform, const ByNode& by_node) {
  if (by_node.nodes.size() < 2 || !by_node.enters_once) return 1;
  std::size_t members = by_node.nodes.front().size();
  std::size_t cards = members;
  for (const Members& node : by_node.nodes) {
    members = std::min(members, node.size());
    cards = std::min(cards, members_by_nic(platform, node).size());
  }
  const auto wanted = platform.spec.collectives.rings.value_or(static_cast<std::int64_t>(cards));
  return std::min(wanted, static_cast<std::int64_t>(members));
}

/// The NICs over which a ring enters and leaves a node, as positions among those that the node's members use.
struct Passage {
  std::size_t enter = 0;
  std::size_t leave = 0;
};

/// In a network of rails a ring leaves each node over the NIC of the number over which it enters the next one. It takes
/// two numbers in turn, and with an odd number of nodes a third one on the way back to the first node; where the
/// members use only two, that way changes rails. `cards` of the ring at `position` are those of its node.
Passage passage_in_rails(const Platform& platform, const std::vector<Members>& cards, std::size_t position,
                         std::size_t nodes, std::size_t first) {
  std::vector<std::size_t> by_number(cards.size());
  std::iota(by_number.begin(), by_number.end(), std::size_t{0});
  std::ranges::sort(by_number, {}, [&](std::size_t card) { return platform.devices[cards[card].front()].nic; });
  const auto leaving = [&](std::size_t node) {
    if (node % 2 == 1) return first;
    return (first + (node + 1 == nodes ? 1 : cards.size() - 1)) % cards.size();
  };
  const std::size_t leave = leaving(position);
  std::size_t enter = leaving((position + nodes - 1) % nodes);
  if (enter == leave) enter = (leave + 1) % cards.size();
  return {by_number[enter], by_number[leave]};
}

/// The order in which one of `count` rings takes the members of the node at `position`: it begins at a NIC of its own
/// and ends at another one, if there are enough.
Members order_in_ring(const Platform& platform, const ByNode& by_node, std::size_t position, std::int64_t ring,
                      std::int64_t count) {
  const Members& node = by_node.nodes[position];
  const std::vector<Members> cards = members_by_nic(platform, node);
  const std::size_t c = cards.size();
  Members order;
  if (count > std::ssize(cards)) {
    for (const Members& card : cards) order.insert(order.end(), card.begin(), card.end());
    std::ranges::rotate(order, order.begin() + std::ssize(node) * ring / count);
    return order;
  }
  const auto first = static_cast<std::size_t>(std::ssize(cards) * ring / count);
  Passage passage{first, (first + c - 1) % c};
  if (may_be_rails(platform)) passage = passage_in_rails(platform, cards, position, by_node.nodes.size(), first);
  const bool is_reversed = passage.leave == (passage.enter + 1) % c && c > 2;
  for (std::size_t i = 0; i < c; ++i) {
    const std::size_t card = (passage.enter + (is_reversed ? c - i : i)) % c;
    if (card != passage.leave || c == 1) order.insert(order.end(), cards[card].begin(), cards[card].end());
  }
  if (c > 1) order.insert(order.end(), cards[passage.leave].begin(), cards[passage.leave].end());
  return order;
}

/// Appends the flows of a ring in which each connection carries `part` of `of`.
void append_ring(const Members& ring, std::int64_t part, std::int64_t of, std::vector<AllReduceFlow>& flows) {
  for (std::size_t i = 0; i < ring.size(); ++i) flows.push_back({ring[i], ring[(i + 1) % ring.size()], part, of});
}

/// The members pass on all chunks once, which reduces or gathers them, or twice: in one ring, or in as many as use all
/// links of their node, where a flow has what all rings send from one member to another.
void append_exchange(const Platform& platform, const Members& members, std::int64_t passes,
                     std::vector<AllReduceFlow>& flows) {
  const auto n = static_cast<std::int64_t>(members.size());
  const std::optional<NodeRings> inside = node_rings(platform, members);
  if (!inside) {
    append_ring(members, passes * (n - 1), n, flows);
    return;
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::size_t k = 0; k < members.size(); ++k) {
      const std::int64_t part = inside->uses[i][k] * passes * (n - 1);
      if (part > 0) flows.push_back({members[i], members[k], part, n * inside->count});
    }
  }
}

AllReduce rings(const Platform& platform, const Members& members, const ByNode& by_node) {
  const auto n = static_cast<std::int64_t>(members.size());
  const std::int64_t count = rings_over(platform, by_node);
  AllReducePhase phase{2 * (n - 1), {}};
  if (count == 1) {
    append_exchange(platform, members, 2, phase.flows);
    return {{std::move(phase)}};
  }
  for (std::int64_t ring = 0; ring < count; ++ring) {
    Members order;
    for (std::size_t position = 0; position < by_node.nodes.size(); ++position) {
      const Members part = order_in_ring(platform, by_node, position, ring, count);
      order.insert(order.end(), part.begin(), part.end());
    }
    append_ring(order, 2 * (n - 1), n * count, phase.flows);
  }
  return {{std::move(phase)}};
}

/// None if the nodes have not equally many members, at least two.
std::optional<AllReduce> hierarchical(const Platform& platform, const std::vector<Members>& nodes) {
  if (nodes.size() < 2 || nodes.front().size() < 2) return std::nullopt;
  const std::size_t in_node = nodes.front().size();
  if (!std::ranges::all_of(nodes, [&](const Members& node) { return node.size() == in_node; })) return std::nullopt;
  const auto g = static_cast<std::int64_t>(in_node);
  const auto k = static_cast<std::int64_t>(nodes.size());
  AllReducePhase inside{g - 1, {}};
  for (const Members& node : nodes) append_exchange(platform, node, 1, inside.flows);
  AllReducePhase across{2 * (k - 1), {}};
  for (std::size_t rank = 0; rank < in_node; ++rank) {
    Members ring;
    for (const Members& node : nodes) ring.push_back(node[rank]);
    append_ring(ring, 2 * (k - 1), k * g, across.flows);
  }
  return AllReduce{{inside, std::move(across), inside}};
}

void halve(AllReducePhase& phase) {
  phase.steps /= 2;
  for (AllReduceFlow& flow : phase.flows) flow.part /= 2;
}

bool are_on_several_nodes(const Platform& platform, const Members& members) {
  const auto node_of = [&](DeviceId member) { return platform.devices[member].node; };
  return std::ranges::any_of(members, [&](DeviceId member) { return node_of(member) != node_of(members.front()); });
}

}  // namespace

Seconds collective_latency(const Platform& platform, const MemberRings& rings, Exchange::Kind kind) {
  const auto is_across = [&](const Members& ring) { return are_on_several_nodes(platform, ring); };
  const double times = std::ranges::any_of(rings, is_across) ? 2.0 : 1.0;
  return platform.spec.collectives.latency * (times * part_of_all_reduce(kind));
}

namespace {

/// Without the latency of the collective.
AllReduce chosen_phases(const Platform& platform, const Members& members, Bytes bytes) {
  using Algorithm = CollectiveSpec::Algorithm;
  const Algorithm algorithm = platform.spec.collectives.algorithm;
  const ByNode by_node = members_by_node(platform, members);
  AllReduce ring = rings(platform, members, by_node);
  if (algorithm == Algorithm::Ring) return ring;
  std::optional<AllReduce> other = hierarchical(platform, by_node.nodes);
  if (!other) return ring;
  if (algorithm == Algorithm::Hierarchical) return *std::move(other);
  const auto time = [&](const AllReduce& all_reduce) { return lowered_time(platform, all_reduce, Bytes(0), bytes); };
  return time(*other) < time(ring) ? *std::move(other) : ring;
}

}  // namespace

AllReduce all_reduce(const Platform& platform, const Members& members, Bytes bytes) {
  return all_reduce(platform, MemberRings{members}, bytes);
}

/// Rings of which some are hierarchical and some are not have no phases in common: then all are plain ones.
AllReduce all_reduce(const Platform& platform, const MemberRings& rings, Bytes bytes) {
  std::vector<AllReduce> each;
  for (const Members& ring : rings) each.push_back(chosen_phases(platform, ring, bytes));
  const auto is_alike = [&](const AllReduce& one) { return one.phases.size() == each.front().phases.size(); };
  if (!std::ranges::all_of(each, is_alike)) {
    for (std::size_t i = 0; i < rings.size(); ++i) {
      each[i] = stagecraft::rings(platform, rings[i], members_by_node(platform, rings[i]));
    }
  }
  AllReduce all = each.front();
  for (std::size_t i = 1; i < each.size(); ++i) {
    for (std::size_t k = 0; k < all.phases.size(); ++k) {
      const AllReducePhase& phase = each[i].phases[k];
      all.phases[k].steps = std::max(all.phases[k].steps, phase.steps);
      all.phases[k].flows.insert(all.phases[k].flows.end(), phase.flows.begin(), phase.flows.end());
    }
  }
  all.phases.front().latency = collective_latency(platform, rings, Exchange::Kind::AllReduce);
  return all;
}

double part_of_all_reduce(Exchange::Kind kind) { return kind == Exchange::Kind::AllReduce ? 1.0 : 0.5; }

// A ring passes all parts on twice. Between phases inside nodes, which reduce and gather, a ring across nodes does.
AllReduce part_of(AllReduce whole, Exchange::Kind kind) {
  if (kind == Exchange::Kind::AllReduce) return whole;
  std::vector<AllReducePhase>& phases = whole.phases;
  const Seconds latency = std::exchange(phases.front().latency, {}) * part_of_all_reduce(kind);
  halve(phases[phases.size() / 2]);
  STAGECRAFT_CHECK(phases.size() == 1 || phases.size() == 3, "an all-reduce is a ring, or hierarchical");
  if (phases.size() == 3) {
    phases.erase(kind == Exchange::Kind::ReduceScatter ? phases.begin() + 2 : phases.begin());
  }
  phases.front().latency = latency;
  return whole;
}

Seconds lowered_time(const Platform& platform, const AllReduce& all_reduce, Bytes begin, Bytes end) {
  Seconds sum;
  for (const AllReducePhase& phase : all_reduce.phases) {
    sum += latency_before(platform, phase) + phase_time(platform, phase, begin, end);
  }
  return sum;
}

std::int64_t rings_of(const Platform& platform, const Members& members) {
  if (const auto inside = node_rings(platform, members)) return inside->count;
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

Seconds all_reduce_time(const Platform& platform, const MemberRings& rings, Bytes bytes) {
  if (rings.front().size() < 2 || bytes == Bytes(0)) return {};
  if (const auto tabulated = tabulated_all_reduce(platform, rings.front().size(), bytes)) return *tabulated;
  Seconds sum = collective_latency(platform, rings, Exchange::Kind::AllReduce);
  for (const AllReducePhase& phase : all_reduce(platform, rings, bytes).phases) {
    std::map<LinkId, double> parts;
    Seconds longest;
    for (const AllReduceFlow& flow : phase.flows) {
      const double own = static_cast<double>(flow.part) / static_cast<double>(flow.of) / efficiency_of(platform, flow);
      for (const LinkId link : route_of(platform, flow).links) {
        longest = std::max(longest, bytes / platform.links[link].bandwidth * (parts[link] += own));
      }
    }
    sum += longest;
  }
  return sum;
}

Seconds lowered_time(const Platform& platform, const MemberRings& rings, Exchange::Kind kind, Bytes begin, Bytes end) {
  if (rings.front().size() < 2) return {};
  if (const auto tabulated = tabulated_all_reduce(platform, rings.front().size(), end - begin)) {
    return *tabulated * part_of_all_reduce(kind);
  }
  return lowered_time(platform, part_of(all_reduce(platform, rings, end - begin), kind), begin, end);
}

Seconds analytic_time(const Platform& platform, const Members& members, Exchange::Kind kind, Bytes bytes, Bytes flow,
                      BytesPerSecond slowest_pair) {
  const double part = part_of_all_reduce(kind);
  if (const auto tabulated = tabulated_all_reduce(platform, members.size(), bytes)) return *tabulated * part;
  const std::int64_t rings = rings_over(platform, members_by_node(platform, members));
  BytesPerSecond bandwidth = static_cast<double>(rings) * slowest_pair;
  if (const auto inside = node_rings(platform, members)) bandwidth = inside->bandwidth;
  const double share = efficiency_of(platform.spec.collectives, are_on_several_nodes(platform, members));
  return collective_latency(platform, {members}, kind) + flow / (share * bandwidth) * part;
}

}  // namespace stagecraft
