#include "sim/model/graph_order.hpp"

#include "sim/base/error.hpp"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/depth_first_search.hpp>

#include <algorithm>
#include <functional>
#include <queue>

namespace stagecraft {
namespace {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

Graph boost_graph(const LayerGraph& graph) {
  Graph result(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) boost::add_edge(edge.from.value(), edge.to.value(), result);
  return result;
}

/// Follows tree edges; the first back edge closes the cycle.
class CycleFinder : public boost::default_dfs_visitor {
 public:
  CycleFinder(std::vector<std::size_t>& parent, std::vector<LayerId>& cycle) : parent_(&parent), cycle_(&cycle) {}

  void tree_edge(const Graph::edge_descriptor& edge, const Graph&) { (*parent_)[edge.m_target] = edge.m_source; }
  void back_edge(const Graph::edge_descriptor& edge, const Graph&) {
    if (!cycle_->empty()) return;
    for (std::size_t at = edge.m_source; at != edge.m_target; at = (*parent_)[at]) cycle_->emplace_back(at);
    cycle_->emplace_back(edge.m_target);
    std::reverse(cycle_->begin(), cycle_->end());
  }

 private:
  std::vector<std::size_t>* parent_;
  std::vector<LayerId>* cycle_;
};

}  // namespace

std::vector<LayerId> find_cycle(const LayerGraph& graph) {
  std::vector<std::size_t> parent(graph.layers.size());
  std::vector<LayerId> cycle;
  const Graph boosted = boost_graph(graph);
  boost::depth_first_search(boosted, boost::visitor(CycleFinder(parent, cycle)));
  return cycle;
}

std::vector<LayerId> canonical_order(const LayerGraph& graph) {
  // Kahn's algorithm with the smallest file position first: Boost's topological_sort leaves ties to the search order.
  const Graph boosted = boost_graph(graph);
  std::vector<std::size_t> missing(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) ++missing[edge.to.value()];
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t layer = 0; layer < missing.size(); ++layer) {
    if (missing[layer] == 0) ready.push(layer);
  }
  std::vector<LayerId> order;
  order.reserve(missing.size());
  while (!ready.empty()) {
    const std::size_t layer = ready.top();
    ready.pop();
    order.emplace_back(layer);
    for (auto [edge, end] = boost::out_edges(layer, boosted); edge != end; ++edge) {
      if (--missing[boost::target(*edge, boosted)] == 0) ready.push(boost::target(*edge, boosted));
    }
  }
  STAGECRAFT_CHECK(order.size() == graph.layers.size(), "canonical order of a cyclic graph");
  return order;
}

std::vector<Bytes> cut_bytes(const LayerGraph& graph, const std::vector<LayerId>& order) {
  if (order.empty()) return {};
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  const Adjacency neighbours = adjacency(graph);
  std::vector<Bytes> cuts(order.size() - 1);
  std::vector<std::pair<std::size_t, Bytes>> uses;  // a tensor's consumers: position and bytes, the farthest first
  for (LayerId layer : order) {
    uses.clear();
    for (std::size_t edge : neighbours.outgoing[layer]) {
      uses.emplace_back(position[graph.edges[edge].to], graph.edges[edge].bytes);
    }
    std::ranges::sort(uses, std::greater<>{}, &std::pair<std::size_t, Bytes>::first);
    Bytes largest{0};
    for (std::size_t i = 0; i < uses.size(); ++i) {
      largest = std::max(largest, uses[i].second);
      const std::size_t begin = i + 1 < uses.size() ? uses[i + 1].first : position[layer];
      for (std::size_t cut = begin; cut < uses[i].first; ++cut) cuts[cut] += largest;
    }
  }
  return cuts;
}

Adjacency adjacency(const LayerGraph& graph) {
  Adjacency result;
  result.incoming.resize(graph.layers.size());
  result.outgoing.resize(graph.layers.size());
  for (std::size_t edge = 0; edge < graph.edges.size(); ++edge) {
    result.outgoing[graph.edges[edge].from].push_back(edge);
    result.incoming[graph.edges[edge].to].push_back(edge);
  }
  return result;
}

}  // namespace stagecraft
