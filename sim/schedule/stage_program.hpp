#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/replicas.hpp"
#include "sim/schedule/gradient_buckets.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace stagecraft {

struct Stage;
struct Training;

/// One step of a stage's backward: consecutive layers, with the recompute that comes before them.
struct BackwardStep {
  bool recomputes = false;
  Seconds recompute;                 ///< the forward of these layers, run again
  Seconds backward;                  ///< both gradients
  Seconds weight;                    ///< the part of `backward` for the weight gradient
  Bytes restored;                    ///< recomputed stash, held from the recompute's start
  Bytes workspace;                   ///< of the layer that needs most, while the step runs
  std::optional<std::size_t> needs;  ///< the part of `StageProgram::swapped` that has to be back before it starts, or
                                     ///< before its recompute does
  Bytes released;  ///< recomputed stash that is freed at its end: what it restored, or what an earlier step of its
                   ///< segment did
  Bytes freed;  ///< stash that is freed at its end, since no later step needs it; of all steps together the whole stash
  std::size_t weights = 0;     ///< the first bucket of weights that it or its recompute needs, with all behind it
  std::size_t completes = 0;   ///< how many buckets of gradients are complete at its end, besides earlier ones
  Seconds exchange;            ///< the part of `backward` in which the members of a group exchange, at its end
  Seconds recompute_exchange;  ///< likewise of `recompute`
  friend bool operator==(const BackwardStep&, const BackwardStep&) = default;

  [[nodiscard]] Seconds input() const { return backward - weight; }
};

/// A part of the stash that leaves for the host after the forward and comes back for the backward.
struct SwappedStash {
  Bytes bytes;
  bool prefetch = true;  ///< see `Swap`
  friend bool operator==(const SwappedStash&, const SwappedStash&) = default;
};

/// What the members of a group exchange in one step of a backward.
struct StepExchanges {
  std::vector<Exchange> backward;
  std::vector<Exchange> recompute;
  friend bool operator==(const StepExchanges&, const StepExchanges&) = default;
};

/// The same of a whole stage.
struct StageExchanges {
  std::vector<Exchange> forward;
  std::vector<StepExchanges> steps;  ///< by step of the backward
  friend bool operator==(const StageExchanges&, const StageExchanges&) = default;
};

/// The work of a stage for one microbatch, and the memory that it keeps for it. Planners' times, the memory ledger and
/// lowering all use this one description.
struct StageProgram {
  Seconds forward;
  Seconds exchange;  ///< the part of `forward` in which the members of a group exchange, at its end
  /// What starting a pass takes on the device: a part of `forward`, of the first step of the backward, and where that
  /// runs in halves of each half.
  Seconds overhead;
  /// The parts of `forward` by bucket of weights, without `exchange`. The first one also has the layers before it.
  std::vector<Seconds> forward_parts = {};
  std::vector<BackwardStep> backward;  ///< in the order in which they run: from the last layer to the first
  Bytes kept;  ///< stash of layers without an action, and the checkpoint of each recompute segment
  std::vector<SwappedStash> swapped;  ///< in the order of the backward
  Bytes workspace;                    ///< of the layer that needs most, while the forward runs
  Bytes parameters;
  Bytes experts;                                 ///< the part of them that an expert group divides
  std::optional<StageExchanges> exchanges = {};  ///< of a group; its times leave them out before `with_exchanges`
  friend bool operator==(const StageProgram&, const StageProgram&) = default;

  [[nodiscard]] Seconds backward_total() const;
  /// The part of the backward for the weight gradients, without the overhead that it has as a half of its own.
  [[nodiscard]] Seconds weight_total() const;
  /// The whole stash of a microbatch, as while its forward runs or after all its parts have been copied back.
  [[nodiscard]] Bytes stash() const;
  /// The most memory that a backward needs on top of the whole stash, of which each step has freed its part.
  [[nodiscard]] Bytes backward_workspace() const;
};

/// The program for one whole microbatch on the profile's device. With `buckets`, those of the stage's layers, a step of
/// the backward also ends where a bucket is complete, or is needed no longer, and the forward has parts.
/// **Requires** recompute segments of consecutive layers of the stage, and swapped layers of the stage outside them.
[[nodiscard]] StageProgram stage_program(const LayerGraph& graph, const Stage& stage, const StageBuckets& buckets = {});
/// The program with all times multiplied by `factor`.
[[nodiscard]] StageProgram with_times(StageProgram program, double factor);
/// The program on a device where each pass takes so much longer. **Requires** one without overhead.
[[nodiscard]] StageProgram with_overhead(StageProgram program, Seconds overhead);
/// The program with the bytes of another one. **Requires** one of the same stage and buckets.
[[nodiscard]] StageProgram with_bytes_of(StageProgram program, const StageProgram& other);
/// The program of a replica whose times are in proportion to its share: they are multiplied by `factor`, for its
/// device, and by the share; bytes by the share.
[[nodiscard]] StageProgram scaled(StageProgram program, double factor, const Share& share);

/// The program of a group with its exchanges as a part of its times, as `time_of` has them. **Requires** times without.
[[nodiscard]] StageProgram with_exchanges(StageProgram program,
                                          const std::function<Seconds(const std::vector<Exchange>&)>& time_of);

}  // namespace stagecraft
