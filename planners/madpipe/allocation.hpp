#pragma once

#include "planners/shared/chain.hpp"
#include "sim/base/ticks.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace stagecraft::madpipe {

/// How many of the g microbatches in flight at a stage of the special device it is charged for: g - 1, since the peaks
/// of its stages need not coincide, or all g.
enum class SpecialMemory { Optimistic, Safe };

struct AllocationSettings {
  bool exact_states = false;             ///< else load, memory and delay are rounded up to a grid
  std::array<int, 3> grid{101, 11, 51};  ///< points on load, memory and delay, each at least 2
  SpecialMemory special_memory = SpecialMemory::Optimistic;
  int iterations = 10;  ///< of `search_allocation`
};

/// Which device runs which layers, with one device, the special one, that may have several stages.
struct Allocation {
  Ticks target = 0;      ///< T^, by which the microbatches in flight were estimated
  Ticks bottleneck = 0;  ///< D: the largest load of a device or cut; load and memory of the special one are estimates
  [[nodiscard]] Ticks period() const { return target > bottleneck ? target : bottleneck; }
  /// In chain order, devices numbered by first appearance. Neighbours may both be on the special device.
  std::vector<ChainStage> stages;
  std::vector<std::int64_t> in_flight;          ///< of each stage, as estimated
  std::optional<std::uint32_t> special_device;  ///< none: it is left idle
};

inline constexpr Ticks kUnlimited = std::numeric_limits<Ticks>::max();

/// Phase 1 of MadPipe for one chain, any number of times; tables are kept from one call to the next.
class AllocationSolver {
 public:
  /// **Requires** a chain that outlives the solver, of fewer than 2^31 layers, whose loads and cut loads add up to less
  /// than 2^60 ticks, and of less than 2^60 bytes.
  AllocationSolver(const Chain& chain, const AllocationSettings& settings);
  ~AllocationSolver();
  AllocationSolver(const AllocationSolver&) = delete;
  AllocationSolver& operator=(const AllocationSolver&) = delete;

  /// The allocation with the least bottleneck if microbatches in flight are counted for the period `target`. None if
  /// nothing fits, or nothing of a period less than `below`; what is found does not depend on `below`.
  /// **Requires** target > 0. **Cost** about 20 ns for each pair of a reached state and a stage that may end there.
  /// **Source** MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022), section on phase 1. Order of choices, ranges of the
  /// grid and rounding are ours (docs/reference/planners/madpipe.md).
  [[nodiscard]] std::optional<Allocation> solve(Ticks target, Ticks below = kUnlimited);

  /// States in the table of the last call.
  [[nodiscard]] std::size_t state_count() const;

  class Recurrence;

 private:
  std::unique_ptr<Recurrence> recurrence_;
};

/// One call of `AllocationSolver::solve`.
[[nodiscard]] std::optional<Allocation> allocate(const Chain& chain, Ticks target, const AllocationSettings& settings);

/// Neighbours on one device become one stage. They lose the buffers between them, but may keep more microbatches in
/// flight: memory has to be judged anew.
[[nodiscard]] std::vector<ChainStage> merge_adjacent(std::span<const ChainStage> stages);

}  // namespace stagecraft::madpipe
