#pragma once

#include "sim/base/quantity.hpp"
#include "sim/base/ticks.hpp"

#include <cstddef>
#include <cstdint>

/// Upper limits for planners. `require_affordable` (`work.hpp`) refuses more before the work begins.
namespace stagecraft {

/// Memory of all tables that a planner keeps at the same time.
inline constexpr double kMostTableBytes = 1 << 30;
/// Steps of a planner's loops; a step takes a nanosecond at most, and most steps are skipped.
inline constexpr double kMostSteps = 5e11;

// Defaults of limits that an option of the planner can change.
inline constexpr std::int64_t kMostCandidates = 100'000;  ///< plans that `exhaustive` looks at
inline constexpr std::int64_t kMostDownSets = 200'000;    ///< states of `pipedream`
inline constexpr double kMostTransitions = 2e10;          ///< of `pipedream`, of about 0.2 ns each
inline constexpr double kMostLatencies = 4e6;             ///< of `dapple`, which then ends its search with a note

/// Forwards, backwards and transfers that `spp` executes, for all numbers of stages together.
inline constexpr double kMostBlocks = 1e9;
/// The same if the order depends on times, because then all blocks are in memory at once.
inline constexpr double kMostListedBlocks = 1e8;

/// Units and cuts that `dawnpiper` looks at, of some 50 ns each; then its search ends with a note.
inline constexpr double kMostPartitionWork = 2e8;
/// Times that stages are sought again because the memory ledger finds more in them than the planner's estimate.
inline constexpr std::int64_t kMostLedgerRounds = 32;

/// Points on an axis of MadPipe's grid.
inline constexpr std::int64_t kMostGridPoints = 10'000;
/// About 52 days; a microbatch on one device must take less.
inline constexpr Ticks kLongestChain = Ticks{1} << 52;

// If there is no plan, planning is repeated with other memory and microbatch sizes, but only up to these sizes of a
// problem: they take some milliseconds, or a second or two with MadPipe.
inline constexpr double kMostCandidatesToRepeat = 2000;     ///< of `exhaustive`
inline constexpr double kMostTransitionsToRepeat = 2e7;     ///< of `pipedream`
inline constexpr double kMostLatenciesToRepeat = 1e7;       ///< of `dapple`, for all sizes together
inline constexpr std::size_t kMostLayersToRepeat = 32;      ///< of `madpipe`
inline constexpr std::size_t kMostUnitsToRepeat = 10'000;   ///< units times stages of `dawnpiper`
inline constexpr int kMostDoublings = 20;                   ///< of the memory in a search for the least memory
inline constexpr Bytes kMostMemory{std::int64_t{1} << 60};  ///< of a device in such a search

}  // namespace stagecraft
