#include "planners/pipedream/down_sets.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <bit>

namespace stagecraft::pipedream {
namespace {

using Word = std::uint64_t;

/// Calls `visit` with the position of every bit that is set in `word`, the `w`-th word of a set.
template <class Visit>
void for_each_bit(Word word, std::size_t w, Visit visit) {
  for (; word != 0; word &= word - 1) visit(w * 64 + static_cast<std::size_t>(std::countr_zero(word)));
}

void set_bit(Word* set, std::size_t bit) { set[bit / 64] |= Word{1} << (bit % 64); }

/// The graph as bit sets: bit b stands for the b-th layer of the canonical order.
struct BitGraph {
  std::size_t words = 0;
  std::vector<LayerId> order;
  std::vector<Word> closure;     ///< a layer and its ancestors
  std::vector<Word> successors;  ///< direct consumers
  std::vector<Word> augmented;   ///< a layer, and those of its ancestors with a consumer outside the layer's closure
  std::size_t first_source = 0;

  [[nodiscard]] const Word* row(const std::vector<Word>& table, std::size_t bit) const { return &table[bit * words]; }
  [[nodiscard]] Word* row(std::vector<Word>& table, std::size_t bit) const { return &table[bit * words]; }
};

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
  const auto source = std::ranges::find(fed, 0);
  bits.first_source = position[LayerId(source - fed.begin())];
  fill_augmented(bits);
  return bits;
}

/// Layer quantities by bit.
struct BitCosts {
  std::vector<double> compute;
  std::vector<double> stash;
  std::vector<double> parameters;
  std::vector<double> output;
};

BitCosts bit_costs(const LayerGraph& graph, const std::vector<LayerId>& order) {
  BitCosts costs;
  for (LayerId id : order) {
    const Layer& layer = graph.layers[id];
    costs.compute.push_back((layer.forward + layer.backward).value());
    costs.stash.push_back(static_cast<double>(layer.stash.value()));
    costs.parameters.push_back(static_cast<double>(layer.parameters.value()));
    costs.output.push_back(static_cast<double>(layer.output.value()));
  }
  return costs;
}

/// Sums over the layers of a set, and the number of layers.
struct Sums {
  double compute = 0.0;
  double stash = 0.0;
  double parameters = 0.0;
  std::size_t layers = 0;
};

/// The sets found so far, in the order of discovery, with a hash table (open addressing) to find them. The record of a
/// set is three rows of words: the set, all consumers of its layers, and its maximal layers.
class Family {
 public:
  explicit Family(std::size_t words) : words_(words), slots_(1024, kEmpty) {}

  [[nodiscard]] std::size_t size() const { return sums_.size(); }
  [[nodiscard]] const Sums& sums(std::size_t state) const { return sums_[state]; }
  [[nodiscard]] const Word* set(std::size_t state) const { return &records_[state * 3 * words_]; }
  [[nodiscard]] const Word* tops(std::size_t state) const { return set(state) + 2 * words_; }

  [[nodiscard]] bool knows(const Word* set) { return find(set) != kEmpty; }
  /// **Requires** a set that is not known.
  void add(const std::vector<Word>& record, const Sums& sums) {
    if (2 * (size() + 1) > slots_.size()) grow();
    find(record.data()) = static_cast<std::uint32_t>(size());
    records_.insert(records_.end(), record.begin(), record.end());
    sums_.push_back(sums);
  }

 private:
  static constexpr std::uint32_t kEmpty = 0xffffffff;

  [[nodiscard]] std::size_t hash(const Word* set) const {
    Word mixed = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      mixed = (mixed ^ set[w]) * 0x9e3779b97f4a7c15U;
      mixed ^= mixed >> 29;
    }
    return static_cast<std::size_t>(mixed ^ (mixed >> 32));
  }
  [[nodiscard]] std::uint32_t& find(const Word* set) {
    std::size_t at = hash(set) & (slots_.size() - 1);
    while (slots_[at] != kEmpty && !std::equal(set, set + words_, this->set(slots_[at]))) {
      at = (at + 1) & (slots_.size() - 1);
    }
    return slots_[at];
  }
  void grow() {
    slots_.assign(2 * slots_.size(), kEmpty);
    for (std::size_t state = 0; state < size(); ++state) find(set(state)) = static_cast<std::uint32_t>(state);
  }

  std::size_t words_;
  std::vector<Word> records_;
  std::vector<Sums> sums_;
  std::vector<std::uint32_t> slots_;
};

/// Adds to `family` the set of `record` extended by a layer and all layers on which it depends. `grown` is scratch
/// space of the record's size.
// NOLINTNEXTLINE(readability-function-size): the kernel of the enumeration, on flat arrays
void extend(const BitGraph& bits, const BitCosts& costs, const std::vector<Word>& record, const Sums& sums,
            std::size_t bit, std::vector<Word>& grown, Family& family) {
  const std::size_t words = bits.words;
  const Word* closure = bits.row(bits.closure, bit);
  for (std::size_t w = 0; w < words; ++w) grown[w] = record[w] | closure[w];
  if (family.knows(grown.data())) return;
  Sums larger = sums;
  for (std::size_t w = 0; w < words; ++w) {
    grown[words + w] = record[words + w];
    grown[2 * words + w] =
        record[2 * words + w] & ~closure[w];  // layers on which the new one depends are no longer maximal
  }
  set_bit(&grown[2 * words], bit);
  for (std::size_t w = 0; w < words; ++w) {
    for_each_bit(closure[w] & ~record[w], w, [&](std::size_t added) {
      const Word* successors = bits.row(bits.successors, added);
      for (std::size_t v = 0; v < words; ++v) grown[words + v] |= successors[v];
      larger.compute += costs.compute[added];
      larger.stash += costs.stash[added];
      larger.parameters += costs.parameters[added];
      ++larger.layers;
    });
  }
  family.add(grown, larger);
}

/// Finds all sets of the family breadth first, starting with {s0}. Returns false as soon as there are more than
/// `max_states` sets.
bool close(const BitGraph& bits, const BitCosts& costs, std::size_t max_states, Family& family) {
  const std::size_t words = bits.words;
  std::vector<Word> record(3 * words);
  std::vector<Word> grown(3 * words);
  extend(bits, costs, record, {}, bits.first_source, grown, family);
  for (std::size_t state = 0; state < family.size(); ++state) {
    if (family.size() > max_states) return false;
    record.assign(family.set(state), family.set(state) + 3 * words);
    const Sums sums = family.sums(state);
    for (std::size_t w = 0; w < words; ++w) {
      for_each_bit(record[words + w] & ~record[w], w,
                   [&](std::size_t bit) { extend(bits, costs, record, sums, bit, grown, family); });
    }
  }
  return family.size() <= max_states;
}

/// The numbers of the sets sorted by size; sets of equal size keep their order of discovery.
std::vector<std::size_t> by_size(const Family& family) {
  std::vector<std::size_t> states(family.size());
  for (std::size_t state = 0; state < states.size(); ++state) states[state] = state;
  std::ranges::stable_sort(states, {}, [&](std::size_t state) { return family.sums(state).layers; });
  return states;
}

/// O of a set: the sum of the outputs of its augmented antichain, which is the union of the rows of its maximal layers.
double traffic_of(const BitGraph& bits, const BitCosts& costs, const Word* tops, std::vector<Word>& antichain) {
  antichain.assign(bits.words, 0);
  for (std::size_t w = 0; w < bits.words; ++w) {
    for_each_bit(tops[w], w, [&](std::size_t top) {
      for (std::size_t v = 0; v < bits.words; ++v) antichain[v] |= bits.row(bits.augmented, top)[v];
    });
  }
  double sum = 0.0;
  for (std::size_t w = 0; w < bits.words; ++w) {
    for_each_bit(antichain[w], w, [&](std::size_t bit) { sum += costs.output[bit]; });
  }
  return sum;
}

/// Refuses a graph with a layer that no set contains.
void require_whole(const LayerGraph& graph, const BitGraph& bits, const Word* largest) {
  for (std::size_t bit = 0; bit < bits.order.size(); ++bit) {
    if (((largest[bit / 64] >> (bit % 64)) & 1U) != 0) continue;
    throw InputError("layer " + quote(graph.layers[bits.order[bit]].name) + " is not connected to the first source, " +
                         quote(graph.layers[bits.order[bits.first_source]].name),
                     {}, "the states of this planner grow along edges from the first source in the file");
  }
}

}  // namespace

std::optional<DownSets> enumerate_down_sets(const LayerGraph& graph, std::size_t max_states) {
  const BitGraph bits = bit_graph(graph);
  const BitCosts costs = bit_costs(graph, bits.order);
  Family family(bits.words);
  if (!close(bits, costs, max_states, family)) return std::nullopt;
  const std::vector<std::size_t> states = by_size(family);
  require_whole(graph, bits, family.set(states.back()));

  DownSets result;
  result.count = states.size();
  result.stride = (result.count + 7) / 8 * 8;
  result.words = bits.words;
  result.order = bits.order;
  result.members.resize(result.words * result.stride);
  for (std::vector<double>* sums : {&result.compute, &result.stash, &result.parameters, &result.traffic}) {
    sums->resize(result.stride);
  }
  std::vector<Word> antichain;
  for (std::size_t s = 0; s < result.count; ++s) {
    const Sums& sums = family.sums(states[s]);
    const Word* set = family.set(states[s]);
    for (std::size_t w = 0; w < result.words; ++w) result.members[w * result.stride + s] = set[w];
    result.compute[s] = sums.compute;
    result.stash[s] = sums.stash;
    result.parameters[s] = sums.parameters;
    result.traffic[s] = traffic_of(bits, costs, family.tops(states[s]), antichain);
  }
  return result;
}

std::vector<LayerId> layers_between(const DownSets& states, std::size_t from, std::size_t to) {
  std::vector<LayerId> layers;
  for (std::size_t bit = 0; bit < states.order.size(); ++bit) {
    const bool before = from < states.count && states.contains(from, bit);
    if (states.contains(to, bit) && !before) layers.push_back(states.order[bit]);
  }
  return layers;
}

}  // namespace stagecraft::pipedream
