#include "sim/analytic/least_exchange.hpp"

#include "sim/schedule/all_reduce.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/tied_stages.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace stagecraft {
namespace {

HeldParameters held_by(Bytes bytes, std::size_t replicas) {
  return {.bytes = bytes, .versions = 1, .replicas = static_cast<std::int64_t>(replicas)};
}

/// Of a ring of so many.
double ring_part(std::size_t members) {
  const auto n = static_cast<double>(members);
  return 2.0 * (n - 1.0) / n;
}

}  // namespace

LeastExchange::LeastExchange(const LayerGraph& graph, const Platform& platform, const Training& training,
                             const std::vector<LayerId>& order, const WidestNetwork& network)
    : platform_(platform),
      training_(training),
      network_(network),
      parameters_(parameter_sums(graph, order)),
      untied_{0.0} {
  const CollectiveSpec& spec = platform.spec.collectives;
  const bool knows_nodes = !platform.devices.items().front().node.is_none();
  inside_bandwidth_ = network.inside.value() * spec.efficiency;
  network_share_ = knows_nodes ? spec.network_efficiency.value_or(spec.efficiency) : spec.efficiency;
  for (const DeviceId device : indices(platform.devices)) capacity_ = std::max(capacity_, platform.capacity(device));
  IndexVector<LayerId, std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  const auto all = [](std::size_t) { return true; };
  for (const LayerId id : order) {
    untied_.push_back(untied_.back() + static_cast<double>(parameters_without(graph, id, all).value()));
  }
  for (const TiedParameters& tied : graph.tied) {
    const auto [first, last] = std::ranges::minmax(tied.layers, {}, [&](LayerId id) { return position[id]; });
    tied_.push_back({position[first], position[last], static_cast<double>(tied.bytes.value())});
  }
}

bool LeastExchange::fits(std::size_t begin, std::size_t end, std::size_t replicas) const {
  return kept_state(training_, held_by(parameters_(begin, end), replicas)).total() <= capacity_;
}

double LeastExchange::update(std::size_t begin, std::size_t end, std::size_t replicas) const {
  Seconds least = kNever;
  const HeldParameters held = held_by(parameters_(begin, end), replicas);
  for (const DeviceKind& kind : platform_.spec.device_kinds)
    least = std::min(least, update_time(kind, training_, held));
  return least.value();
}

/// Of the divided optimizer's state only the reduce-scatter counts, and where gradients are divided too nothing, since
/// it is not certain what of them comes last.
LeastExchange::Rate LeastExchange::scaled(double per_byte, std::size_t replicas) const {
  if (training_.zero >= 2) return {};
  const double part = training_.zero == 1 ? part_of_all_reduce(Exchange::Kind::ReduceScatter) : 1.0;
  // A byte of each flow of a phase, of which a member or a node has one for each replica at most.
  const double rounding = 2.0 * static_cast<double>(replicas);
  return {platform_.spec.collectives.latency.value() * part, per_byte * part, rounding};
}

LeastExchange::Rate LeastExchange::inside(std::size_t replicas) const {
  if (replicas < 2) return {};
  if (!platform_.spec.collectives.table.empty()) return by_table(replicas);
  return scaled(ring_part(replicas) / inside_bandwidth_, replicas);
}

LeastExchange::Rate LeastExchange::spread(std::size_t replicas) const {
  if (replicas < 2) return {};
  if (!platform_.spec.collectives.table.empty()) return by_table(replicas);
  const bool is_ring = platform_.spec.collectives.algorithm == CollectiveSpec::Algorithm::Ring;
  const std::size_t fewest = std::max<std::size_t>(2, (replicas + network_.in_node - 1) / network_.in_node);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t nodes = fewest; nodes <= std::min(replicas, network_.nodes); ++nodes) {
    // No node has more rings than the one with the fewest members.
    const std::size_t each = replicas / nodes;
    const double over_cards = cards_bandwidth(each);
    least = std::min(least, ring_part(replicas) / over_cards);
    if (is_ring || each < 2 || replicas % nodes != 0) continue;
    least = std::min(least, ring_part(nodes) / over_cards + ring_part(each) / inside_bandwidth_);
  }
  return scaled(least, replicas);
}

double LeastExchange::cards_bandwidth(std::size_t rings) const {
  return std::min(network_.of_node.value(), network_.card.value() * static_cast<double>(rings)) * network_share_;
}

/// Measured bandwidths have the latency in them.
LeastExchange::Rate LeastExchange::by_table(std::size_t replicas) const {
  const auto& table = platform_.spec.collectives.table;
  const BytesPerSecond widest = std::ranges::max(table, {}, [](const auto& row) { return row.second; }).second;
  return {0.0, scaled(ring_part(replicas) / widest.value(), replicas).per_byte};
}

double LeastExchange::bytes_up_to(std::size_t last, std::size_t begin, std::size_t end) const {
  double bytes = untied_[last + 1] - untied_[begin];
  for (const Tied& tied : tied_) {
    if (begin <= tied.first && tied.first <= last && tied.last < end) bytes += tied.bytes;
  }
  return bytes;
}

// What layers up to one of the stage exchange begins after the backwards of those behind it.
std::vector<double> LeastExchange::exposed(std::size_t begin, const Rate& rate, const LayerSums& busiest) const {
  const auto beyond = [&](std::size_t last, std::size_t end) {
    const double bytes = bytes_up_to(last, begin, end) - rate.rounding;
    return bytes > 0.0 ? rate.latency + rate.per_byte * bytes - busiest.backwards(begin, last) : 0.0;
  };
  std::vector<double> by_end;
  double most = 0.0;
  for (std::size_t end = begin + 1; end < untied_.size(); ++end) {
    const auto ends = [&](const Tied& tied) { return tied.last + 1 == end && tied.first >= begin; };
    const std::size_t first = std::ranges::any_of(tied_, ends) ? begin : end - 1;
    for (std::size_t last = first; last < end; ++last) most = std::max(most, beyond(last, end));
    by_end.push_back(most);
  }
  return by_end;
}

}  // namespace stagecraft
