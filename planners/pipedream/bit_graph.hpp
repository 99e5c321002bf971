#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::pipedream {

/// A part of a set of layers: bit b of word w is the layer at position 64 w + b of the canonical order.
using Word = std::uint64_t;

/// Calls `visit` with the position of every bit that is set in `word`, the `w`-th word of a set.
template <class Visit>
void for_each_bit(Word word, std::size_t w, Visit visit) {
  for (; word != 0; word &= word - 1) visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
}

inline void set_bit(Word* set, std::size_t bit) { set[bit / 64] |= Word{1} << (bit % 64); }

/// The layer graph as sets of bits, with the quantities of the layers.
/// **Shape** tables of sets have `words` words for each layer; the others have one entry for each layer.
struct BitGraph {
  std::size_t words = 0;
  std::vector<LayerId> order;    ///< canonical
  std::vector<Word> closure;     ///< a layer and its ancestors
  std::vector<Word> successors;  ///< direct consumers
  std::vector<Word> augmented;   ///< a layer, and those of its ancestors with a consumer outside the layer's closure
  std::size_t first_source = 0;  ///< in file order
  std::vector<double> compute;
  std::vector<double> stash;
  std::vector<double> parameters;
  std::vector<double> output;

  [[nodiscard]] const Word* row(const std::vector<Word>& table, std::size_t bit) const { return &table[bit * words]; }
  [[nodiscard]] Word* row(std::vector<Word>& table, std::size_t bit) const { return &table[bit * words]; }
};

/// **Requires** an acyclic graph with at least one layer. **Cost** O(layers · edges) bit operations.
[[nodiscard]] BitGraph bit_graph(const LayerGraph& graph);

/// O of a set, given its maximal layers: the outputs of the union of their rows in `augmented`.
[[nodiscard]] double traffic_of(const BitGraph& bits, const Word* tops);

}  // namespace stagecraft::pipedream
