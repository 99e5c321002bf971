#include "sim/analytic/class_cuts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

/// An edge of the graph, between positions in the canonical order.
struct OrderedEdge {
  std::size_t from = 0;
  std::size_t to = 0;
  double bytes = 0.0;
};

/// By the layer that reads.
std::vector<OrderedEdge> ordered_edges(const LayerGraph& graph, const std::vector<LayerId>& order) {
  IndexVector<LayerId, std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<OrderedEdge> edges;
  for (const LayerEdge& edge : graph.edges) {
    edges.push_back({position[edge.from], position[edge.to], static_cast<double>(edge.bytes.value())});
  }
  std::ranges::sort(edges, {}, &OrderedEdge::to);
  return edges;
}

/// By layer: the longest chain of layers that ends with it.
std::vector<ChainLatency> longest_chains(const std::vector<OrderedEdge>& edges, const LayerSums& times) {
  std::vector<ChainLatency> chains(times.forward.size() - 1);
  auto edge = edges.begin();
  for (std::size_t layer = 0; layer < chains.size(); ++layer) {
    ChainLatency& own = chains[layer];
    for (; edge != edges.end() && edge->to == layer; ++edge) {
      own.both = std::max(own.both, chains[edge->from].both);
      own.forward = std::max(own.forward, chains[edge->from].forward);
    }
    own.both += times.forwards(layer, layer + 1) + times.backwards(layer, layer + 1);
    own.forward += times.forwards(layer, layer + 1);
  }
  return chains;
}

}  // namespace

ClassCuts::ClassCuts(const LayerGraph& graph, const ClassStages& stages, bool shares_links)
    : stages_(stages),
      shares_links_(shares_links),
      readers_(stages.order().size(), stages.order().size()),
      bytes_(stages.order().size()) {
  const std::size_t layers = stages.order().size();
  const std::vector<OrderedEdge> edges = ordered_edges(graph, stages.order());
  for (const OrderedEdge& edge : edges) {
    const std::size_t begin = edge.from + 1;
    if (edge.to > readers_[begin]) continue;
    bytes_[begin] = std::max(edge.to < readers_[begin] ? 0.0 : bytes_[begin], edge.bytes);
    readers_[begin] = edge.to;
  }
  const std::vector<ChainLatency> chains = longest_chains(edges, stages.times().anywhere());
  for (std::size_t begin = 0; begin < layers; ++begin) {
    std::vector<ChainLatency> by_end(layers - begin);
    for (const OrderedEdge& edge : edges) {
      if (edge.from >= begin || edge.to < begin) continue;
      ChainLatency& into = by_end[edge.to - begin];
      into.both = std::max(into.both, chains[edge.from].both);
      into.forward = std::max(into.forward, chains[edge.from].forward);
    }
    for (std::size_t i = 1; i < by_end.size(); ++i) {
      by_end[i].both = std::max(by_end[i].both, by_end[i - 1].both);
      by_end[i].forward = std::max(by_end[i].forward, by_end[i - 1].forward);
    }
    chains_.push_back(std::move(by_end));
  }
}

double ClassCuts::least_part(const StageForm& form) const {
  if (!form.divides) return 1.0;
  const std::int64_t samples = stages_.samples() / static_cast<std::int64_t>(form.replicas);
  return static_cast<double>(samples) / static_cast<double>(stages_.samples());
}

double ClassCuts::transfer(std::size_t layer, const StageForm& from, const StageForm& to) const {
  const double flows = from.divides ? static_cast<double>(from.replicas) : 1.0;
  const WidestNetwork& network = stages_.network();
  return network.latency.value() + bytes_[layer] * least_part(to) / flows / network.between.value();
}

double ClassCuts::transfers(std::size_t layer, const StageForm& from, const StageForm& to) const {
  // Those from one device to another follow each other anyway.
  const auto pairs = static_cast<double>(from.replicas * to.replicas);
  const double bytes = bytes_[layer] * static_cast<double>(stages_.microbatches());
  return std::max(over_cards(layer), bytes / pairs / stages_.network().between.value());
}

double ClassCuts::transfers_of_spread(std::size_t layer, const StageForm& spread, std::size_t inside) const {
  const auto replicas = static_cast<std::int64_t>(spread.replicas);
  const std::int64_t all = spread.divides ? stages_.samples() : stages_.microbatches();
  const std::int64_t largest = (all + replicas - 1) / replicas;
  const std::int64_t outside = std::max<std::int64_t>(0, all - static_cast<std::int64_t>(inside) * largest);
  return over_cards(layer) * static_cast<double>(outside) / static_cast<double>(all);
}

double ClassCuts::over_cards(std::size_t layer) const {
  if (!shares_links_) return 0.0;
  const double bytes = bytes_[layer] * static_cast<double>(stages_.microbatches());
  return bytes / stages_.network().of_node.value();
}

}  // namespace stagecraft
