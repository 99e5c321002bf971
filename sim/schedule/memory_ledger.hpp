#pragma once

#include "sim/base/quantity.hpp"
#include "sim/schedule/boundaries.hpp"
#include "sim/schedule/stage_program.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

struct DeviceKind;
struct KeptPlan;
struct Plan;
struct Stage;
struct Training;

/// The weight versions that stay on the device where a stage swaps its versions.
inline constexpr std::int64_t kVersionsOnDevice = 2;
/// Whether a replica that keeps `versions` of its weights has some of them in host memory.
[[nodiscard]] bool moves_versions(const Stage& stage, std::int64_t versions);

/// The bytes that one replica of a stage keeps from the start of a run (docs/reference/report.md).
struct StaticMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes buffers;
  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + buffers; }
  StaticMemory& operator+=(const StaticMemory& other);
  friend bool operator==(const StaticMemory&, const StaticMemory&) = default;
};

/// What is in one and not in the other.
[[nodiscard]] StaticMemory excess(const StaticMemory& of, const StaticMemory& over);

/// The parameters of a stage as one of its replicas keeps them.
struct HeldParameters {
  Bytes bytes;
  std::int64_t versions = 1;         ///< of the weights, on the device
  std::int64_t replicas = 1;         ///< devices with the same ones, which divide them as far as `Training::zero` says
  Bytes experts = {};                ///< the part of the bytes that fewer devices have
  std::int64_t expert_replicas = 1;  ///< these
  bool begins_update = true;         ///< false: another replica on the device begins each update
};

/// One replica's part of what all divide: rounded up to a whole number of parameters.
[[nodiscard]] Bytes divided(const Training& training, const HeldParameters& held);
/// The time of the optimizer's step on a device: the bytes of weights, gradients and optimizer state divided by the
/// kind's update bandwidth, or 0 if the kind has none; and the kind's overhead where an update begins. The replicas
/// that divide the optimizer's state each change a part.
[[nodiscard]] Seconds update_time(const DeviceKind& kind, const Training& training, const HeldParameters& held);

/// Weights, gradients and optimizer.
[[nodiscard]] StaticMemory kept_state(const Training& training, const HeldParameters& held);
/// The bytes of these for each byte of parameters, if parts were not rounded up. Never more than `kept_state` has.
[[nodiscard]] double state_copies(const Training& training, std::int64_t versions, std::int64_t replicas);
/// **Units** `boundary_bytes` is the sum over the stage's boundaries whose other side is on another device, for a whole
/// microbatch.
[[nodiscard]] StaticMemory static_memory(const Training& training, const HeldParameters& held, Bytes boundary_bytes,
                                         const Share& share);
/// The same of a replica of a plan, with the buffers for what is divided.
/// **Cost** O(boundaries + buckets of the stage).
[[nodiscard]] StaticMemory static_memory(const KeptPlan& kept, ReplicaId id, const HeldParameters& held);
/// The same without the parameters that another replica on its device holds.
/// `weight_versions`: by stage. **Cost** also that of `held_elsewhere`.
[[nodiscard]] StaticMemory static_memory(const LayerGraph& graph, const KeptPlan& kept,
                                         const std::vector<std::int64_t>& weight_versions, ReplicaId id);

/// So many bytes of a stage's parameters, with those of its experts among them, and the devices that divide what
/// `Training::zero` says of them: those of its ring, or 1. Of the replicas on a device the first one begins its only
/// update in a flushed iteration; in an asynchronous run each stage is updated by itself.
[[nodiscard]] HeldParameters held_parameters(const KeptPlan& kept, ReplicaId id, Bytes bytes,
                                             std::int64_t versions = 1);

/// The bytes of those boundaries of a stage whose other side is on another device than the replica.
[[nodiscard]] Bytes boundary_bytes(const Plan& plan, const std::vector<Boundary>& boundaries, StageId stage,
                                   DeviceId replica);

/// The memory peak of one replica with `in_flight` microbatches in flight, if its stage is alone on its device and no
/// stash is on the host: static memory, stashes, and the largest workspace of the forward or of a step of the backward.
/// `work` is the replica's own program (`ReplicaPrograms`).
[[nodiscard]] Bytes peak_memory(const StaticMemory& held, const StageProgram& work, std::int64_t in_flight);

/// What the input-gradient half of a split backward leaves of these bytes to the weight-gradient half, rounded up.
[[nodiscard]] Bytes left_by_input_half(Bytes bytes, const Training& training);

}  // namespace stagecraft
