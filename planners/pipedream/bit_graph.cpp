#include "planners/pipedream/bit_graph.hpp"

#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace stagecraft::pipedream {
namespace {

bool is_subset(const Word* a, const Word* b, std::size_t words) {
  for (std::size_t w = 0; w < words; ++w) {
    if ((a[w] & ~b[w]) != 0) return false;
  }
  return true;
}

void fill_augmented(BitGraph& bits) {
  for (std::size_t bit = 0; bit < bits.order.size(); ++bit) {
    const Word* closure = bits.row(bits.closure, bit);
    Word* augmented = bits.row(bits.augmented, bit);
    for (std::size_t w = 0; w < bits.words; ++w) {
      for_each_bit(closure[w], w, [&](std::size_t p) {
        if (!is_subset(bits.row(bits.successors, p), closure, bits.words)) set_bit(augmented, p);
      });
    }
    set_bit(augmented, bit);
  }
}

void fill_closure(BitGraph& bits) {
  for (std::size_t bit = 0; bit < bits.order.size(); ++bit) {
    Word* own = bits.row(bits.closure, bit);
    set_bit(own, bit);
    const Word* successors = bits.row(bits.successors, bit);
    for (std::size_t w = 0; w < bits.words; ++w) {
      for_each_bit(successors[w], w, [&](std::size_t to) {
        for (std::size_t v = 0; v < bits.words; ++v) bits.row(bits.closure, to)[v] |= own[v];
      });
    }
  }
}

/// What each layer keeps, where a tensor that several layers keep is its producer's, as the original program counts
/// activations; an input of the network is the first layer's that keeps it.
IndexVector<LayerId, Bytes> stashes_by_producer(const LayerGraph& graph, const std::vector<LayerId>& order) {
  IndexVector<LayerId, Bytes> stashes(graph.layers.size());
  std::vector<char> is_counted(graph.tensors.size());
  for (const LayerId id : order) {
    stashes[id] += graph.layers[id].stash;
    for (const std::uint32_t kept : graph.layers[id].keeps) {
      const SharedTensor& tensor = graph.tensors[kept];
      stashes[id] -= tensor.bytes;
      if (std::exchange(is_counted[kept], 1) == 0) stashes[tensor.from.is_none() ? id : tensor.from] += tensor.bytes;
    }
  }
  return stashes;
}

/// The parameters of each layer, where those that several layers have in common belong to the first of them. So they
/// are reduced once, and the stage of another one gets them for nothing.
IndexVector<LayerId, Bytes> parameters_by_first(const LayerGraph& graph, const std::vector<LayerId>& order) {
  IndexVector<LayerId, Bytes> parameters(graph.layers.size());
  for (const LayerId id : order) parameters[id] = graph.layers[id].parameters;
  for (const TiedParameters& tied : graph.tied) {
    const auto first = std::ranges::find_if(
        order, [&](LayerId id) { return std::ranges::find(tied.layers, id) != tied.layers.end(); });
    for (const LayerId id : tied.layers) parameters[id] -= id == *first ? Bytes(0) : tied.bytes;
  }
  return parameters;
}

void fill_costs(const LayerGraph& graph, BitGraph& bits) {
  const IndexVector<LayerId, Bytes> stashes = stashes_by_producer(graph, bits.order);
  const IndexVector<LayerId, Bytes> parameters = parameters_by_first(graph, bits.order);
  for (LayerId id : bits.order) {
    const Layer& layer = graph.layers[id];
    bits.compute.push_back((layer.forward + layer.backward).value());
    bits.stash.push_back(static_cast<double>(stashes[id].value()));
    bits.parameters.push_back(static_cast<double>(parameters[id].value()));
    bits.output.push_back(static_cast<double>(layer.output.value()));
  }
}

}  // namespace

BitGraph bit_graph(const LayerGraph& graph) {
  BitGraph bits;
  bits.order = canonical_order(graph);
  bits.words = (bits.order.size() + 63) / 64;
  IndexVector<LayerId, std::size_t> position(graph.layers.size());
  for (std::size_t bit = 0; bit < bits.order.size(); ++bit) position[bits.order[bit]] = bit;
  const std::size_t size = bits.order.size() * bits.words;
  bits.closure.assign(size, 0);
  bits.successors.assign(size, 0);
  bits.augmented.assign(size, 0);
  IndexVector<LayerId, char> fed(graph.layers.size());
  for (const LayerEdge& edge : graph.edges) {
    set_bit(bits.row(bits.successors, position[edge.from]), position[edge.to]);
    fed[edge.to] = 1;
  }
  fill_closure(bits);
  const auto source = std::ranges::find(fed, 0);
  bits.first_source = position[LayerId(source - fed.begin())];
  fill_augmented(bits);
  fill_costs(graph, bits);
  return bits;
}

double traffic_of(const BitGraph& bits, const Word* tops) {
  static thread_local std::vector<Word> antichain;
  antichain.assign(bits.words, 0);
  for (std::size_t w = 0; w < bits.words; ++w) {
    for_each_bit(tops[w], w, [&](std::size_t top) {
      for (std::size_t v = 0; v < bits.words; ++v) antichain[v] |= bits.row(bits.augmented, top)[v];
    });
  }
  double sum = 0.0;
  for (std::size_t w = 0; w < bits.words; ++w) {
    for_each_bit(antichain[w], w, [&](std::size_t bit) { sum += bits.output[bit]; });
  }
  return sum;
}

}  // namespace stagecraft::pipedream
