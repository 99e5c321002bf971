#include "sim/schedule/memory_ledger.hpp"

#include <algorithm>

namespace stagecraft {

StaticMemory static_memory(const Training& training, const StageWork& work, std::int64_t weight_versions,
                           Bytes boundary_bytes, const Share& share) {
  StaticMemory memory;
  memory.weights = work.parameters * weight_versions;
  memory.gradients = work.parameters * training.gradient_copies;
  memory.optimizer = work.parameters * training.optimizer_copies;
  memory.buffers = share * boundary_bytes * training.boundary_buffers;
  return memory;
}

Bytes boundary_bytes(const Plan& plan, const std::vector<Boundary>& boundaries, StageId stage, DeviceId replica) {
  const auto is_elsewhere = [&](StageId other) {
    return std::ranges::any_of(plan.stages[other.value()].devices, [&](DeviceId device) { return device != replica; });
  };
  Bytes sum;
  for (const Boundary& boundary : boundaries) {
    if (boundary.from != stage && boundary.to != stage) continue;
    if (is_elsewhere(boundary.from == stage ? boundary.to : boundary.from)) sum += boundary.bytes;
  }
  return sum;
}

Bytes peak_memory(const StaticMemory& held, const StageWork& work, std::int64_t in_flight,
                  std::int64_t resident_swapped, const Share& share) {
  Bytes workspace = share * work.workspace;
  for (const BackwardPiece& piece : work.backward) {
    workspace = std::max(workspace, share * piece.rematerialised + share * piece.workspace);
  }
  const Bytes stash = (share * work.stash) * in_flight + (share * work.swapped) * std::min(resident_swapped, in_flight);
  return held.total() + stash + workspace;
}

}  // namespace stagecraft
