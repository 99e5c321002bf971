#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/exchange.hpp"
#include "sim/model/origin.hpp"
#include "sim/model/precision.hpp"
#include "sim/model/profile_source.hpp"
#include "sim/model/training.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The smallest unit that a planner may place. Times and sizes are for one microbatch of the graph's size on the
/// graph's device kind; parameters do not depend on the microbatch.
struct Layer {
  std::string name;
  std::string type;  ///< optional tag; layers of one type are interchangeable for caching
  Seconds forward;
  Seconds backward;         ///< input gradient and weight gradient together
  Seconds backward_weight;  ///< the part of `backward` for the weight gradient
  Bytes parameters;         ///< with those that it has in common with others (`LayerGraph::tied`)
  Bytes output;             ///< one tensor; every edge carries all of it unless the edge says otherwise
  Bytes stash;       ///< kept from the forward to the end of the backward, if no other layer of the stage keeps it
  Bytes checkpoint;  ///< the part of the stash kept by the first layer of a recompute segment; at most `stash`
  Bytes workspace;   ///< needed while the layer runs
  std::vector<std::uint32_t> reads = {};          ///< positions in `LayerGraph::tensors`, increasing
  std::vector<std::uint32_t> keeps = {};          ///< likewise; these tensors are part of the stash
  std::vector<Exchange> forward_exchanges = {};   ///< of a group that runs the layer together; times leave them out
  std::vector<Exchange> backward_exchanges = {};  ///< likewise
  Bytes experts = {};                             ///< the part of `parameters` that an expert group divides
  friend bool operator==(const Layer&, const Layer&) = default;
};

/// A tensor that flows from its producer to one consumer.
struct LayerEdge {
  LayerId from;
  LayerId to;
  Bytes bytes;
  friend bool operator==(const LayerEdge&, const LayerEdge&) = default;
};

/// A tensor that several layers read or keep for their backwards. A stage holds it once, whoever keeps it there.
struct SharedTensor {
  LayerId from;  ///< the layer that makes it; none: an input of the network
  Bytes bytes;
  friend bool operator==(const SharedTensor&, const SharedTensor&) = default;
};

/// Parameters that several layers have in common, such as a table of words that the last layer uses again. A device
/// holds them once, whichever of the layers it has; stages that each have one exchange their gradients.
struct TiedParameters {
  std::vector<LayerId> layers;  ///< at least two, increasing
  Bytes bytes;                  ///< part of the parameters of each
  friend bool operator==(const TiedParameters&, const TiedParameters&) = default;
};

/// What the forward of one sample asks for, whatever computes it.
struct SampleWork {
  Flops forward;            ///< two for each multiply-add of products and convolutions, masked ones too; 0: not known
  Flops masked;             ///< of those, what a causal mask hides and fused attention leaves out
  std::int64_t tokens = 0;  ///< of its sequence, of two the one that the encoder reads; 0: none, or not known
  friend bool operator==(const SampleWork&, const SampleWork&) = default;
};

/// A profile of a model at one microbatch size: a directed acyclic graph of layers in file order.
struct LayerGraph {
  std::string name;
  std::string device_kind;           ///< the kind the times were taken on
  std::int64_t microbatch_size = 1;  ///< samples per microbatch that the numbers refer to
  std::string source;                ///< who measured or computed it, and how
  Origin origin = Origin::Assumed;   ///< of its times
  Bytes input;                       ///< input of each layer without incoming edges
  IndexVector<LayerId, Layer> layers;
  std::vector<LayerEdge> edges;  ///< in file order
  /// Tensors that are known one by one; none: what layers keep is theirs alone.
  std::vector<SharedTensor> tensors;
  std::vector<TiedParameters> tied;
  /// Its layers on other kinds of device and for parts of its microbatch: their times and what they keep. None: both
  /// are in proportion to samples, and times to the speeds of kinds.
  std::shared_ptr<const ProfileSource> own_times;
  std::string precision = kPlainPrecision;           ///< in which its times were taken
  std::optional<std::int64_t> parameter_bytes = {};  ///< of one, where stated; see `known_parameter_bytes`
  SampleWork work = {};                              ///< the same in all profiles of a model
  /// The group for which its figures are: times, bytes and parameters are those of each member. Work is of the whole.
  Degrees degrees = {};
  Copies copies = {};  ///< how many devices of a worker hold the same parameters, also where `degrees` tell no more
  friend bool operator==(const LayerGraph&, const LayerGraph&) = default;
};

/// How to compute a profile again: the names under which the catalogues of networks and devices know its parts.
struct Recipe {
  std::string architecture;
  std::optional<std::int64_t> image;  ///< pixels along an edge, where they are not the network's usual ones
  std::string granularity;
  std::optional<std::string> precision = {};  ///< on every device; none: that of a device's description
  std::optional<std::int64_t> sequence = {};  ///< tokens in a sample, where they are not the network's usual ones
  bool selective_recompute = false;           ///< the backward computes unfused attention again
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// A model as its file gives it: one profile for each kind of device and microbatch size, at least one; those of a kind
/// stand together, by increasing size. All have the same layers and edges.
struct Model {
  std::vector<LayerGraph> profiles;
  std::optional<Recipe> recipe;
  std::shared_ptr<const ProfileSource> computed;  ///< the profiles that the recipe gives; none without one
  friend bool operator==(const Model& a, const Model& b) { return a.profiles == b.profiles && a.recipe == b.recipe; }
};

/// The profiles of the model, for every kind and size that it knows.
[[nodiscard]] std::shared_ptr<const ProfileSource> profiles_of(const Model& model);

/// The profile of `kind` at `microbatch_size` samples. It has its `own_times` where the model knows more than one size
/// or kind.
/// **Requires** microbatch_size > 0, and a kind that the model has; the first profile's is the default.
[[nodiscard]] LayerGraph at_microbatch_size(const Model& model, std::int64_t microbatch_size,
                                            const std::optional<std::string>& kind = {});

/// The model for one member of a group that divides each layer: its profiles are computed anew. A group of one device
/// has the whole. The member has no recipe, which would be that of the whole.
/// **Throws** InputError where the profiles were measured, and for a network that cannot be divided so.
[[nodiscard]] Model sharded(const Model& model, const Degrees& degrees);

/// Sets each layer's `stash` and `checkpoint` to the bytes of its inputs wherever they are negative ("not given"):
/// the sum over incoming edges, `input` for a layer without any.
void apply_memory_defaults(LayerGraph& graph);

/// The graph with the stashes and workspaces of a convention, likewise on other kinds and for parts of its microbatch.
/// **Requires** the graph of a model file.
[[nodiscard]] LayerGraph with_stash(LayerGraph graph, StashConvention convention);

/// How many devices of a replica hold the same parameters, among those that the graph has.
[[nodiscard]] Copies held_copies(const LayerGraph& graph);

/// The bytes of one parameter. A computed graph that does not state them has `kPlainParameterBytes`; of other graphs
/// they are then unknown.
[[nodiscard]] std::optional<std::int64_t> known_parameter_bytes(const LayerGraph& graph);

/// Sums over all layers.
struct LayerTotals {
  Seconds forward;
  Seconds backward;
  Bytes parameters;  ///< tied ones once
  Bytes stash;       ///< as if each layer were a stage of its own
};
[[nodiscard]] LayerTotals totals(const LayerGraph& graph);

}  // namespace stagecraft
