#include "sim/schedule/exchange_phases.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Set = std::vector<DeviceId>;

/// The set node by node where these have equally many members, else as one node.
std::vector<Set> even_nodes(const Platform& platform, const Set& set) {
  std::vector<Set> nodes;
  std::map<NodeId, std::size_t> positions;
  for (const DeviceId member : set) {
    const NodeId node = platform.devices[member].node;
    if (node.is_none()) return {set};
    const auto [position, is_new] = positions.emplace(node, nodes.size());
    if (is_new) nodes.emplace_back();
    nodes[position->second].push_back(member);
  }
  const auto is_even = [&](const Set& node) { return node.size() == nodes.front().size(); };
  return std::ranges::all_of(nodes, is_even) ? nodes : std::vector<Set>{set};
}

/// Every member sends to the one that is so many nodes, and so many places in a node, after its own.
void append_step(const std::vector<Set>& nodes, std::size_t step, std::vector<AllReduceFlow>& flows) {
  const std::size_t places = nodes.front().size();
  const auto all = static_cast<std::int64_t>(nodes.size() * places);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const Set& receivers = nodes[(node + step / places) % nodes.size()];
    for (std::size_t place = 0; place < places; ++place) {
      flows.push_back({nodes[node][place], receivers[(place + step) % places], 1, all});
    }
  }
}

AllReduce all_to_all(const Platform& platform, const MemberRings& sets) {
  AllReduce steps;
  for (std::size_t step = 1; step < sets.front().size(); ++step) steps.phases.push_back({1, {}});
  for (const Set& set : sets) {
    const std::vector<Set> nodes = even_nodes(platform, set);
    for (std::size_t step = 1; step < set.size(); ++step) append_step(nodes, step, steps.phases[step - 1].flows);
  }
  steps.phases.front().latency = collective_latency(platform, sets, Exchange::Kind::AllToAll);
  return steps;
}

AllReduce shift(const Platform& platform, const MemberRings& sets) {
  AllReducePhase phase{1, {}, collective_latency(platform, sets, Exchange::Kind::Shift)};
  for (const Set& set : sets) {
    for (std::size_t i = 0; i < set.size(); ++i) phase.flows.push_back({set[i], set[(i + 1) % set.size()], 1, 1});
  }
  return {{std::move(phase)}};
}

/// The bytes that a member sends, as a part of those that it sends in an all-reduce.
double sent_of_all_reduce(Exchange::Kind kind, std::size_t members) {
  const auto n = static_cast<double>(members);
  switch (kind) {
    case Exchange::Kind::AllReduce: return 1.0;
    case Exchange::Kind::ReduceScatter:
    case Exchange::Kind::AllGather:
    case Exchange::Kind::AllToAll: return 0.5;
    case Exchange::Kind::Shift: return n / (2.0 * (n - 1.0));
  }
  return 1.0;
}

}  // namespace

MemberRings exchanging(const Group& group, const Degrees& degrees, Exchange::Among among) {
  std::int64_t size = degrees.tensor;
  std::int64_t apart = 1;
  if (among == Exchange::Among::Context) {
    size = degrees.context;
    apart = degrees.tensor;
  } else if (among == Exchange::Among::Expert) {
    size = degrees.expert;
  }
  MemberRings sets;
  for (std::int64_t begin = 0; begin < std::ssize(group.devices); begin += size * apart) {
    for (std::int64_t first = begin; first < begin + apart; ++first) {
      Set& set = sets.emplace_back();
      for (std::int64_t i = 0; i < size; ++i) set.push_back(group.devices[static_cast<std::size_t>(first + i * apart)]);
    }
  }
  return sets;
}

AllReduce exchange_phases(const Platform& platform, const MemberRings& sets, Exchange::Kind kind, Bytes bytes) {
  if (kind == Exchange::Kind::AllToAll) return all_to_all(platform, sets);
  if (kind == Exchange::Kind::Shift) return shift(platform, sets);
  return part_of(all_reduce(platform, sets, bytes), kind);
}

double waited_part(const Platform& platform, const Exchange& exchange) {
  const bool beside_products =
      exchange.among == Exchange::Among::Tensor &&
      (exchange.kind == Exchange::Kind::AllGather || exchange.kind == Exchange::Kind::ReduceScatter);
  return beside_products ? 1.0 - platform.spec.collectives.overlap : 1.0;
}

Seconds exchange_time(const Platform& platform, const MemberRings& sets, Exchange::Kind kind, Bytes bytes) {
  const std::size_t members = sets.front().size();
  if (const auto tabulated = tabulated_all_reduce(platform, members, bytes)) {
    return *tabulated * sent_of_all_reduce(kind, members);
  }
  return lowered_time(platform, exchange_phases(platform, sets, kind, bytes), Bytes(0), bytes);
}

}  // namespace stagecraft
