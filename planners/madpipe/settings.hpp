#pragma once

#include "planners/madpipe/allocation.hpp"
#include "planners/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::madpipe {

struct Settings {
  AllocationSettings allocation;
  std::size_t candidates = 1;   ///< allocations for which a pattern is sought
  std::int64_t node_limit = 0;  ///< of the integer program, for each of them
  bool fallback = true;         ///< whether to return the contiguous plan unless a better one is found
};

/// The planner's option table.
[[nodiscard]] std::vector<OptionInfo> option_table();

/// **Throws** InputError for a grid that is not three numbers of points.
[[nodiscard]] Settings settings_of(const Options& options);

}  // namespace stagecraft::madpipe
