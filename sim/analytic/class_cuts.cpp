#include "sim/analytic/class_cuts.hpp"

#include <algorithm>
#include <cstdint>

namespace stagecraft {
namespace {

/// The longest chains of layers that end before each, whose sums before each position are given.
void add_chains(const LayerGraph& graph, const std::vector<LayerId>& order, const LayerSums& times,
                std::vector<CertainCut>& cuts) {
  IndexVector<LayerId, std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<std::vector<std::size_t>> readers(order.size());
  for (const LayerEdge& edge : graph.edges) readers[position[edge.from]].push_back(position[edge.to]);
  for (std::size_t from = 0; from < order.size(); ++from) {
    const double forward = cuts[from].forward + times.forwards(from, from + 1);
    const double both = cuts[from].both + times.forwards(from, from + 1) + times.backwards(from, from + 1);
    for (const std::size_t to : readers[from]) {
      cuts[to].forward = std::max(cuts[to].forward, forward);
      cuts[to].both = std::max(cuts[to].both, both);
    }
  }
}

}  // namespace

ClassCuts::ClassCuts(const LayerGraph& graph, const ClassStages& stages, bool shares_links)
    : stages_(stages), shares_links_(shares_links), cuts_(stages.order().size()) {
  const std::vector<LayerId>& order = stages.order();
  IndexVector<LayerId, std::size_t> position(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  for (const LayerEdge& edge : graph.edges) {
    if (position[edge.from] + 1 != position[edge.to]) continue;
    CertainCut& cut = cuts_[position[edge.to]];
    cut.waits = true;
    cut.bytes = std::max(cut.bytes, static_cast<double>(edge.bytes.value()));
  }
  add_chains(graph, order, stages.times().anywhere(), cuts_);
}

double ClassCuts::least_part(const StageForm& form) const {
  if (!form.divides) return 1.0;
  const std::int64_t samples = stages_.samples() / static_cast<std::int64_t>(form.replicas);
  return static_cast<double>(samples) / static_cast<double>(stages_.samples());
}

double ClassCuts::transfer(std::size_t layer, const StageForm& from, const StageForm& to) const {
  if (!cuts_[layer].waits) return 0.0;
  const double flows = from.divides ? static_cast<double>(from.replicas) : 1.0;
  const WidestNetwork& network = stages_.network();
  return network.latency.value() + cuts_[layer].bytes * least_part(to) / flows / network.between.value();
}

double ClassCuts::transfers(std::size_t layer, const StageForm& from, const StageForm& to) const {
  // Those from one device to another follow each other anyway.
  const auto pairs = static_cast<double>(from.replicas * to.replicas);
  const double bytes = cuts_[layer].bytes * static_cast<double>(stages_.microbatches());
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
  const double bytes = cuts_[layer].bytes * static_cast<double>(stages_.microbatches());
  return bytes / stages_.network().of_node.value();
}

}  // namespace stagecraft
