#pragma once

#include "planners/shared/costs/chain.hpp"
#include "sim/base/ticks.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft::madpipe {

/// The number of microbatches for which the special device's memory is charged, if a stage has g in flight: g - 1
/// (optimistic, because its stages need not reach their peaks at the same time), or all g (safe).
enum class SpecialMemory { Optimistic, Safe };

struct AllocationSettings {
  bool exact_states = false;             ///< if false, load, memory and delay are rounded up to a grid
  std::array<int, 3> grid{101, 11, 51};  ///< points on load, memory and delay, each at least 2
  SpecialMemory special_memory = SpecialMemory::Optimistic;
  int iterations = 10;  ///< of `trace_search`
};

/// An assignment of layers to devices. One device, the special one, may have several stages.
struct Allocation {
  Ticks target = 0;      ///< T^, the period for which the microbatches in flight were estimated
  Ticks bottleneck = 0;  ///< D: the largest load of a device or cut; that of the special device is an estimate
  [[nodiscard]] Ticks period() const { return target > bottleneck ? target : bottleneck; }
  /// In chain order, with devices numbered by first appearance. Two neighbours may both be on the special device.
  std::vector<ChainStage> stages;
  std::vector<std::int64_t> in_flight;          ///< of each stage, as estimated
  std::optional<std::uint32_t> special_device;  ///< none if it is left idle
};

inline constexpr Ticks kUnlimited = std::numeric_limits<Ticks>::max();

/// Phase 1 of MadPipe for one chain. It can be called any number of times and keeps the storage of its tables.
class AllocationSolver {
 public:
  /// **Requires** a chain that outlives the solver, of fewer than 2^31 layers, whose loads and cut loads add up to less
  /// than 2^60 ticks, and of less than 2^60 bytes.
  AllocationSolver(const Chain& chain, const AllocationSettings& settings);
  ~AllocationSolver();
  AllocationSolver(const AllocationSolver&) = delete;
  AllocationSolver& operator=(const AllocationSolver&) = delete;

  /// The allocation with the least bottleneck if the microbatches in flight are estimated for the period `target`. None
  /// if nothing fits, or nothing with a period less than `below`; an allocation that is found does not depend on
  /// `below`.
  /// **Requires** target > 0. **Cost** about 20 ns for each pair of a reached state and a stage that may end there.
  /// **Source** MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022), section on phase 1. The order of choices, the ranges
  /// of the grid and the rounding are our own (docs/reference/planners/madpipe.md).
  [[nodiscard]] std::optional<Allocation> solve(Ticks target, Ticks below = kUnlimited);

  /// The number of states in the tables of the last call.
  [[nodiscard]] std::size_t state_count() const;

  class Recurrence;

 private:
  std::unique_ptr<Recurrence> recurrence_;
};

/// Merges neighbouring stages on the same device into one stage. The merged stage has no buffers between its parts, but
/// may keep more microbatches in flight, so its memory has to be checked again.
[[nodiscard]] std::vector<ChainStage> merge_adjacent(std::span<const ChainStage> stages);

}  // namespace stagecraft::madpipe
