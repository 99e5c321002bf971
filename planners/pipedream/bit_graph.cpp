#include "planners/pipedream/bit_graph.hpp"

#include "sim/model/graph_order.hpp"

#include <algorithm>

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

void fill_costs(const LayerGraph& graph, BitGraph& bits) {
  for (LayerId id : bits.order) {
    const Layer& layer = graph.layers[id];
    bits.compute.push_back((layer.forward + layer.backward).value());
    bits.stash.push_back(static_cast<double>(layer.stash.value()));
    bits.parameters.push_back(static_cast<double>(layer.parameters.value()));
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
