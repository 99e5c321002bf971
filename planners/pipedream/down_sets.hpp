#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft::pipedream {

/// The states of PipeDream's dynamic program: down-sets of the layer graph, that is, sets that contain all ancestors of
/// their layers ("everything computed so far"). The smallest comes first, the whole graph last. State K precedes state
/// J iff K's set is a strict subset of J's.
///
/// **Units** seconds and bytes, as doubles (sizes are exact below 2^53).
/// **Shape** every array over states has `stride` entries, `count` of them used and the rest zero; `stride` is a
/// multiple of 8, so that loops over states may run in whole blocks. Bit b of a set is layer `order[b]`.
struct DownSets {
  std::size_t count = 0;
  std::size_t stride = 0;
  std::size_t words = 0;               ///< 64-bit words of one set
  std::size_t width = 0;               ///< the most sets of one size, if sets were left out; 0: none was
  std::vector<LayerId> order;          ///< canonical
  std::vector<std::uint64_t> members;  ///< word w of state s: members[w * stride + s]
  std::vector<double> compute;         ///< C: forward + backward of all layers in the set
  std::vector<double> stash;           ///< Act, in which a tensor counts once, at its producer
  std::vector<double> parameters;      ///< Par
  std::vector<double> traffic;         ///< O: bytes at the boundary after the set

  [[nodiscard]] bool contains(std::size_t state, std::size_t bit) const {
    return ((members[bit / 64 * stride + state] >> (bit % 64)) & 1U) != 0;
  }
};

/// All states, or none if there are more than `max_states`.
///
/// They are the smallest family of sets that contains {s0}, where s0 is the first source in file order, and that is
/// closed under this step: for an edge u→v that leaves a set, add v and all its ancestors. Sets of equal size keep the
/// order of discovery.
///
/// O of a state sums the outputs of its *augmented antichain*: the set's maximal layers, and every ancestor p of such a
/// layer m that has a consumer which is neither m nor an ancestor of m. Each m is tested by itself, so p also counts if
/// that consumer is in the set through another branch.
/// **Requires** an acyclic graph with at least one layer.
/// **Throws** InputError if a layer is not connected to s0, because no state would contain it.
/// **Cost** O(layers · edges) bit operations, then O(states · width · layers / 64).
/// **Source** PipeDream (Narayanan et al., SOSP 2019), the authors' optimizer; the family was characterised from its
/// antichain construction.
[[nodiscard]] std::optional<DownSets> enumerate_down_sets(const LayerGraph& graph, std::size_t max_states);

/// Part of the states, at most `max_states`; none if even one state of each size is more. Going from small to large
/// sets, only the `width` sets of each size (number of layers) whose traffic is least are kept and extended, with the
/// largest width that is found by doubling and bisection. If that leaves out no set, the states are those of
/// `enumerate_down_sets`.
/// **Throws** as `enumerate_down_sets`. **Cost** O(log max_states) times that of as many states, times the number of
/// layers by which a set can be extended.
[[nodiscard]] std::optional<DownSets> narrowed_down_sets(const LayerGraph& graph, std::size_t max_states);

/// At most `max_states` of the states, with one of some sizes: those of `narrowed_down_sets` with width 1 whose compute
/// is nearest above an equal part of that of all layers, the largest among them.
/// **Requires** at least one state. **Throws** as `enumerate_down_sets`. **Cost** that of as many states as layers.
[[nodiscard]] DownSets thinned_down_sets(const LayerGraph& graph, std::size_t max_states);

/// The layers that are in state `to` but not in state `from`, in canonical order. If `from` is not a state (kNothing),
/// all layers of `to`.
[[nodiscard]] std::vector<LayerId> layers_between(const DownSets& states, std::size_t from, std::size_t to);

}  // namespace stagecraft::pipedream
