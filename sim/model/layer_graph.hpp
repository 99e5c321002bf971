#pragma once

#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
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
  Bytes parameters;
  Bytes output;      ///< one tensor; every edge carries all of it unless the edge says otherwise
  Bytes stash;       ///< kept from the forward to the end of the backward
  Bytes checkpoint;  ///< the part of the stash kept by the first layer of a recompute segment; at most `stash`
  Bytes workspace;   ///< needed while the layer runs
  friend bool operator==(const Layer&, const Layer&) = default;
};

/// A tensor that flows from its producer to one consumer.
struct LayerEdge {
  LayerId from;
  LayerId to;
  Bytes bytes;
  friend bool operator==(const LayerEdge&, const LayerEdge&) = default;
};

/// A profile of a model at one microbatch size: a directed acyclic graph of layers in file order.
struct LayerGraph {
  std::string name;
  std::string device_kind;           ///< the kind the times were taken on
  std::int64_t microbatch_size = 1;  ///< samples per microbatch that the numbers refer to
  std::string source;                ///< who measured or computed it, and how
  Bytes input;                       ///< input of each layer without incoming edges
  IndexVector<LayerId, Layer> layers;
  std::vector<LayerEdge> edges;  ///< in file order
  friend bool operator==(const LayerGraph&, const LayerGraph&) = default;
};

/// A model as its file gives it: one profile for each measured microbatch size, by increasing size, at least one. All
/// have the same layers and edges.
struct Model {
  std::vector<LayerGraph> profiles;
  friend bool operator==(const Model&, const Model&) = default;
};

/// `model` at `microbatch_size` samples per microbatch.
struct ScaledProfile {
  LayerGraph graph;
  bool extrapolated = false;  ///< the size lies outside the measured ones, of which there are several
};

/// The profile at another microbatch size: proportional from one measured size (times, `input`, outputs, stashes,
/// checkpoints, workspaces and edge bytes; never parameters), linear between several.
/// **Requires** microbatch_size > 0.
[[nodiscard]] ScaledProfile at_microbatch_size(const Model& model, std::int64_t microbatch_size);

/// Sets each layer's `stash` and `checkpoint` to the bytes of its inputs wherever they are negative ("not given"):
/// the sum over incoming edges, `input` for a layer without any.
void apply_memory_defaults(LayerGraph& graph);

/// Sums over a set of layers.
struct LayerTotals {
  Seconds forward;
  Seconds backward;
  Bytes parameters;
  Bytes stash;
};
[[nodiscard]] LayerTotals totals(const LayerGraph& graph);

}  // namespace stagecraft
