#pragma once

#include "planners/madpipe/allocation.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft::madpipe {

/// One call of the recurrence.
struct SearchStep {
  Ticks target = 0;                 ///< T^
  std::optional<Ticks> bottleneck;  ///< D; none if max(T^, D) is not less than in the steps before
};

struct AllocationSearch {
  std::vector<Allocation> found;  ///< each with a smaller period than the one before; empty if nothing fits
  std::vector<SearchStep> steps;
  std::size_t most_states = 0;  ///< in the tables at one time
};

/// Algorithm 1 of MadPipe: bisection over T^ with `settings.iterations` calls of the recurrence, beginning at the mean
/// load of a device. A call that returns D shows that the least period is at least min(T^, D) and at most max(T^, D),
/// because D does not grow with T^ (with exact states; rounding to a grid may break this). If nothing is found, the
/// upper end (all loads and cuts one after another) is tried once. Targets are rounded down to a tick and are at least
/// one.
/// **Requires** what `AllocationSolver` requires. **Cost** that of its calls.
/// **Source** MadPipe (Beaumont, Eyraud-Dubois, Shilova 2022), Algorithm 1.
[[nodiscard]] AllocationSearch trace_search(const Chain& chain, const AllocationSettings& settings);

}  // namespace stagecraft::madpipe
