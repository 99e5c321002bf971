#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/plan.hpp"
#include "sim/schedule/workers.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Bytes one replica of a stage keeps from the start of a run (contract, section 5).
struct StaticMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes buffers;
  [[nodiscard]] Bytes total() const { return weights + gradients + optimizer + buffers; }
  friend bool operator==(const StaticMemory&, const StaticMemory&) = default;
};

/// **Units** `boundary_bytes` is the sum over the stage's boundaries whose other side is on another device, for a whole
/// microbatch.
[[nodiscard]] StaticMemory static_memory(const Training& training, const StageWork& work, std::int64_t weight_versions,
                                         Bytes boundary_bytes, const Share& share);

/// Bytes of a stage's boundaries whose other side is on another device than the replica.
[[nodiscard]] Bytes boundary_bytes(const Plan& plan, const std::vector<Boundary>& boundaries, StageId stage,
                                   DeviceId replica);

/// Bytes one replica holds at most when `in_flight` microbatches are in flight at a stage alone on its device: static
/// memory, stashes, and the largest workspace of a piece of the last one's backward, or of the forward that comes on
/// top. Swapped stashes count while `resident_swapped` of them are on the device.
[[nodiscard]] Bytes peak_memory(const StaticMemory& held, const StageWork& work, std::int64_t in_flight,
                                std::int64_t resident_swapped, const Share& share);

}  // namespace stagecraft
