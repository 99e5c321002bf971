#pragma once

#include "sim/base/quantity.hpp"
#include "sim/base/ticks.hpp"

#include <cstddef>
#include <cstdint>

/// What planners take on. `require_affordable` (planners/shared/work.hpp) refuses more before the work begins.
namespace stagecraft {

/// Of the tables that a planner keeps at once.
inline constexpr double kMostTableBytes = 1 << 30;
/// Of a planner's loops; a step takes a nanosecond at most, and most steps are skipped.
inline constexpr double kMostSteps = 5e11;

// Limits that an option of the planner replaces; these are the defaults.
inline constexpr std::int64_t kMostCandidates = 100'000;  ///< plans that `exhaustive` looks at
inline constexpr std::int64_t kMostDownSets = 200'000;    ///< states of `pipedream`
inline constexpr double kMostTransitions = 2e10;          ///< of `pipedream`, of about 0.2 ns each
inline constexpr double kMostLatencies = 2e6;             ///< of `dapple`, which then ends its search with a note

/// Forwards, backwards and transfers that `spp` executes, all counts of stages together.
inline constexpr double kMostBlocks = 1e9;
/// The same where times decide the order and all blocks are in memory at once.
inline constexpr double kMostListedBlocks = 1e8;

/// Points on an axis of MadPipe's grid.
inline constexpr std::int64_t kMostGridPoints = 10'000;
/// About 52 days: a microbatch on one device takes less.
inline constexpr Ticks kLongestChain = Ticks{1} << 52;

// Requests that are asked again for other sizes where they find no plan: those that take some milliseconds, or a second
// or two with MadPipe.
inline constexpr double kMostCandidatesToRepeat = 2000;     ///< of `exhaustive`
inline constexpr double kMostTransitionsToRepeat = 2e7;     ///< of `pipedream`
inline constexpr std::size_t kMostLayersToRepeat = 32;      ///< of `madpipe`
inline constexpr int kMostDoublings = 20;                   ///< of the memory that a search begins with
inline constexpr Bytes kMostMemory{std::int64_t{1} << 60};  ///< of a device, that is tried

}  // namespace stagecraft
