#pragma once

#include "planners/madpipe/allocation.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft::madpipe {

/// One call of the recurrence.
struct SearchStep {
  Ticks target = 0;                 ///< T^
  std::optional<Ticks> bottleneck;  ///< D; none: max(T^, D) is not below that of the steps before
};

struct AllocationSearch {
  std::optional<Allocation> best;  ///< the first with the least period; none: nothing fits
  std::vector<SearchStep> steps;
  std::size_t most_states = 0;  ///< in the tables at one time
};

/// Algorithm 1 of MadPipe: halves an interval of T^ `settings.iterations` times. It starts with T^ at the mean load of
/// a device; a call with value D says that the least period is at least min(T^, D) and at most max(T^, D), because D
/// does not grow with T^ (on exact states; a grid may round so that it does). Where nothing is found, the upper end,
/// all loads and cuts after one another, is tried once. Targets are rounded down to a tick, and are at least one.
/// **Requires** what `AllocationSolver` requires. **Cost** that of its calls.
/// **Source** MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022), Algorithm 1.
[[nodiscard]] AllocationSearch trace_search(const Chain& chain, const AllocationSettings& settings);

/// Its best allocation.
[[nodiscard]] std::optional<Allocation> search_allocation(const Chain& chain, const AllocationSettings& settings);

}  // namespace stagecraft::madpipe
