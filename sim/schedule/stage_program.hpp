#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {

/// One operation of a stage's backward: a run of layers, with the recompute that comes before it.
struct BackwardStep {
  bool recomputes = false;
  Seconds recompute;                 ///< the forward of the segment again
  Seconds backward;                  ///< both gradients
  Seconds weight;                    ///< the weight-gradient share of it
  Bytes restored;                    ///< stash made again: from the start of the recompute to the end of the backward
  Bytes workspace;                   ///< of the layer that needs most, while it runs
  std::optional<std::size_t> needs;  ///< which of the swapped stashes has to be back before it starts
  friend bool operator==(const BackwardStep&, const BackwardStep&) = default;

  [[nodiscard]] Seconds input() const { return backward - weight; }
};

/// A part of the stash that leaves for the host after the forward and comes back for the backward.
struct SwappedStash {
  Bytes bytes;
  bool prefetch = true;  ///< see `Swap`
  friend bool operator==(const SwappedStash&, const SwappedStash&) = default;
};

/// What a stage does for one microbatch and keeps for it: times, the ledger and lowering all read it here.
struct StageProgram {
  Seconds forward;
  std::vector<BackwardStep> backward;  ///< in the order in which they run: from the last layer to the first
  Bytes kept;  ///< stash of layers without an action, and the checkpoint of each recompute segment's first layer
  std::vector<SwappedStash> swapped;  ///< in the order of the backward
  Bytes workspace;                    ///< of the layer that needs most, while the forward runs
  Bytes parameters;
  friend bool operator==(const StageProgram&, const StageProgram&) = default;

  [[nodiscard]] Seconds backward_total() const;
  /// Of a microbatch whose forward is running, or all of whose copies are back.
  [[nodiscard]] Bytes stash() const;
  /// On top of the stash while a backward runs, at most.
  [[nodiscard]] Bytes backward_workspace() const;
};

/// Of one whole microbatch on the profile's device.
/// **Requires** recompute segments of consecutive layers of the stage, and swapped layers of the stage outside them.
[[nodiscard]] StageProgram stage_program(const LayerGraph& graph, const Stage& stage);

/// Of one replica: times by `factor` for its device and by its share of each microbatch, bytes by its share.
[[nodiscard]] StageProgram scaled(StageProgram program, double factor, const Share& share);

/// The optimizer's step on a device: weights, gradients and optimizer state over its update bandwidth; nothing where
/// the kind has none.
[[nodiscard]] Seconds update_time(const DeviceKind& kind, const Training& training, Bytes parameters);

}  // namespace stagecraft
