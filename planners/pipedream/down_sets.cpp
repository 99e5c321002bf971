#include "planners/pipedream/down_sets.hpp"

#include "planners/pipedream/bit_graph.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace stagecraft::pipedream {
namespace {

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
  explicit Family(std::size_t words) : words_(words), slots_(64, kEmpty) {}

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

/// Scratch space for one set: its record, and the record of a larger set.
struct Scratch {
  explicit Scratch(std::size_t words) : record(3 * words), grown(3 * words) {}
  std::vector<Word> record;
  Sums sums;
  std::vector<Word> grown;
};

/// Adds the set of `scratch.record` extended by a layer and all layers on which it depends to the family that
/// `family_of` names for its number of layers.
// NOLINTNEXTLINE(readability-function-size): the kernel of the enumeration, on flat arrays
template <class FamilyOf>
void extend(const BitGraph& bits, Scratch& scratch, std::size_t bit, FamilyOf family_of) {
  const std::size_t words = bits.words;
  const std::vector<Word>& record = scratch.record;
  std::vector<Word>& grown = scratch.grown;
  const Word* closure = bits.row(bits.closure, bit);
  Sums larger = scratch.sums;
  larger.layers = 0;
  for (std::size_t w = 0; w < words; ++w) {
    grown[w] = record[w] | closure[w];
    larger.layers += static_cast<std::size_t>(std::popcount(grown[w]));
  }
  Family& family = family_of(larger.layers);
  if (family.knows(grown.data())) return;
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
      larger.compute += bits.compute[added];
      larger.stash += bits.stash[added];
      larger.parameters += bits.parameters[added];
    });
  }
  family.add(grown, larger);
}

/// Extends a set of `family` by every layer that one of its layers feeds.
template <class FamilyOf>
void extend_all(const BitGraph& bits, const Family& family, std::size_t state, Scratch& scratch, FamilyOf family_of) {
  const std::size_t words = bits.words;
  scratch.record.assign(family.set(state), family.set(state) + 3 * words);
  scratch.sums = family.sums(state);
  for (std::size_t w = 0; w < words; ++w) {
    for_each_bit(scratch.record[words + w] & ~scratch.record[w], w,
                 [&](std::size_t bit) { extend(bits, scratch, bit, family_of); });
  }
}

/// Finds all sets of the family breadth first, starting with {s0}. Returns false as soon as there are more than
/// `max_states` sets.
bool close(const BitGraph& bits, std::size_t max_states, Family& family) {
  Scratch scratch(bits.words);
  const auto family_of = [&](std::size_t) -> Family& { return family; };
  extend(bits, scratch, bits.first_source, family_of);
  for (std::size_t state = 0; state < family.size(); ++state) {
    if (family.size() > max_states) return false;
    extend_all(bits, family, state, scratch, family_of);
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

/// The `width` sets of the family with the least traffic, of equal ones those found first; in the order of discovery.
std::vector<std::size_t> least_traffic(const BitGraph& bits, const Family& family, std::size_t width) {
  std::vector<std::pair<double, std::size_t>> sets;
  for (std::size_t state = 0; state < family.size(); ++state) {
    sets.emplace_back(family.size() > width ? traffic_of(bits, family.tops(state)) : 0.0, state);
  }
  std::ranges::sort(sets);
  std::vector<std::size_t> least;
  for (const auto& [traffic, state] : std::span(sets).first(std::min(width, sets.size()))) least.push_back(state);
  std::ranges::sort(least);
  return least;
}

/// The sets that remain if, going from small to large sets, only the `width` sets of each size with the least traffic
/// are kept and extended. Gives up beyond `max_states` sets.
struct Narrowed {
  explicit Narrowed(std::size_t words) : family(words) {}
  Family family;
  bool is_complete = true;  ///< no set was left out
  bool is_too_large = false;
};
Narrowed narrow(const BitGraph& bits, std::size_t width, std::size_t max_states) {
  Narrowed result(bits.words);
  Scratch scratch(bits.words);
  std::vector<Family> of_size(bits.order.size() + 1, Family(bits.words));
  const auto family_of = [&](std::size_t layers) -> Family& { return of_size[layers]; };
  extend(bits, scratch, bits.first_source, family_of);
  for (Family& family : of_size) {
    if (family.size() > width) result.is_complete = false;
    for (std::size_t state : least_traffic(bits, family, width)) {
      if (result.family.size() == max_states) result.is_too_large = true;
      if (result.is_too_large) return result;
      extend_all(bits, family, state, scratch, family_of);
      result.family.add(scratch.record, scratch.sums);
    }
    family = Family(bits.words);  // frees its memory
  }
  return result;
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

DownSets down_sets(const LayerGraph& graph, const BitGraph& bits, const Family& family) {
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
  for (std::size_t s = 0; s < result.count; ++s) {
    const Sums& sums = family.sums(states[s]);
    const Word* set = family.set(states[s]);
    for (std::size_t w = 0; w < result.words; ++w) result.members[w * result.stride + s] = set[w];
    result.compute[s] = sums.compute;
    result.stash[s] = sums.stash;
    result.parameters[s] = sums.parameters;
    result.traffic[s] = traffic_of(bits, family.tops(states[s]));
  }
  return result;
}

/// These of the states, in ascending order.
DownSets subset(const DownSets& all, const std::vector<std::size_t>& kept) {
  DownSets part{.count = kept.size(),
                .stride = (kept.size() + 7) / 8 * 8,
                .words = all.words,
                .order = all.order,
                .members = {},
                .compute = {},
                .stash = {},
                .parameters = {},
                .traffic = {}};
  const auto take = [&](const auto& from, std::size_t row, auto& into) {
    const std::size_t first = into.size();
    into.resize(first + part.stride);
    for (std::size_t i = 0; i < kept.size(); ++i) into[first + i] = from[row * all.stride + kept[i]];
  };
  for (std::size_t word = 0; word < all.words; ++word) take(all.members, word, part.members);
  take(all.compute, 0, part.compute);
  take(all.stash, 0, part.stash);
  take(all.parameters, 0, part.parameters);
  take(all.traffic, 0, part.traffic);
  return part;
}

}  // namespace

std::optional<DownSets> enumerate_down_sets(const LayerGraph& graph, std::size_t max_states) {
  const BitGraph bits = bit_graph(graph);
  Family family(bits.words);
  if (!close(bits, max_states, family)) return std::nullopt;
  return down_sets(graph, bits, family);
}

std::optional<DownSets> narrowed_down_sets(const LayerGraph& graph, std::size_t max_states) {
  const BitGraph bits = bit_graph(graph);
  std::optional<DownSets> result;
  std::size_t fits = 0;                  // the largest width that was found to fit
  std::size_t exceeds = max_states + 1;  // the least that was found not to
  for (std::size_t width = 1; fits + 1 < exceeds;) {
    const Narrowed narrowed = narrow(bits, width, max_states);
    if (narrowed.is_too_large) {
      exceeds = width;
    } else {
      fits = width;
      result = down_sets(graph, bits, narrowed.family);
      result->width = narrowed.is_complete ? 0 : width;
      if (narrowed.is_complete) break;
    }
    width = exceeds > max_states ? std::min(2 * width, max_states) : (fits + exceeds) / 2;
  }
  return result;
}

DownSets thinned_down_sets(const LayerGraph& graph, std::size_t max_states) {
  const BitGraph bits = bit_graph(graph);
  const DownSets all = down_sets(graph, bits, narrow(bits, 1, graph.layers.size()).family);
  const double part = all.compute[all.count - 1] / static_cast<double>(max_states);
  std::vector<std::size_t> kept;
  for (std::size_t state = 0; state < all.count; ++state) {
    const bool reaches_next = all.compute[state] >= part * static_cast<double>(kept.size() + 1);
    const bool is_last = state + 1 == all.count;
    if (!is_last && (!reaches_next || kept.size() + 1 == max_states)) continue;
    kept.push_back(state);
  }
  DownSets result = subset(all, kept);
  result.width = 1;
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
