#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// What flows between two stages for one microbatch: every tensor that some layer of `to` needs of a layer of `from`,
/// each once, at the largest of its edges. The gradient has the same size.
struct Boundary {
  StageId from;
  StageId to;
  Bytes bytes;
  friend bool operator==(const Boundary&, const Boundary&) = default;
};

/// All boundaries of a plan, by producing stage, then consuming stage.
/// **Requires** a plan that covers the graph.
[[nodiscard]] std::vector<Boundary> boundaries(const LayerGraph& graph, const Plan& plan);

/// A run of layers whose backward is one operation, with the recompute that comes before it.
struct BackwardPiece {
  bool recomputes = false;
  Seconds recompute;        ///< the forward of the segment again
  Seconds backward;         ///< both gradients
  Seconds backward_weight;  ///< the weight-gradient share
  Bytes rematerialised;     ///< from the start of the recompute to the end of the backward
  Bytes workspace;          ///< of the layer that needs most, while it runs
  friend bool operator==(const BackwardPiece&, const BackwardPiece&) = default;
};

/// A stage's work for one whole microbatch on the profile's device.
struct StageWork {
  Seconds forward;
  std::vector<BackwardPiece> backward;  ///< in the order in which they run: from the last layer to the first
  Bytes stash;    ///< of kept layers, and the checkpoint of each recompute segment's first layer; swapped layers apart
  Bytes swapped;  ///< stash of swapped layers
  Bytes workspace;  ///< of the layer that needs most, while the forward runs
  Bytes parameters;
  friend bool operator==(const StageWork&, const StageWork&) = default;

  [[nodiscard]] Seconds backward_total() const;
};

/// **Requires** recompute segments of consecutive layers of the stage, and swapped layers of the stage outside them.
[[nodiscard]] StageWork stage_work(const LayerGraph& graph, const Stage& stage);

/// The optimizer's step on a device: weights, gradients and optimizer state over its update bandwidth; nothing where
/// the kind has none.
[[nodiscard]] Seconds update_time(const DeviceKind& kind, const Training& training, Bytes parameters);

/// A part of a whole: [begin, end) of `of`.
struct Share {
  std::int64_t begin = 0;
  std::int64_t end = 1;
  std::int64_t of = 1;
  [[nodiscard]] Bytes operator*(Bytes whole) const { return share_up(whole, end - begin, of); }
};

/// The part of each microbatch that a replica runs, of those it runs at all.
[[nodiscard]] Share replica_share(const Stage& stage, std::size_t replica);

/// The part of a tensor that goes from one replica to another; empty if they have nothing to exchange.
[[nodiscard]] Share flow_share(const Share& from, const Share& to);

}  // namespace stagecraft
