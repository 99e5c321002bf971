#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>

namespace stagecraft::run_limits {

// Upper limits for one run, wherever it is asked for: on the command line, in a study or in a plan file.

inline constexpr std::int64_t kMostMicrobatches = 1'000'000'000;
inline constexpr std::int64_t kMostSamples = 1'000'000'000;  ///< of a microbatch or a global batch
inline constexpr std::int64_t kMostIterations = 1'000'000;
inline constexpr std::int64_t kMostCopies = 4096;   ///< gradient copies, optimizer copies or boundary buffers
inline constexpr Seconds kLongestPlanning(864000);  ///< time limit of an external planner: ten days

inline constexpr double kMostComputations = 1e9;           ///< of one microbatch on one stage each
inline constexpr std::int64_t kMostRecorded = 20'000'000;  ///< operations of a run whose record is wanted: each takes
                                                           ///< some 200 bytes
inline constexpr std::int64_t kMostWritten = 5'000'000;    ///< the same of one that is written whole: each takes some
                                                           ///< 550 bytes of a file, and browsers show no page with more
inline constexpr double kMostBytes = 0x1p60;               ///< of all memory together: 1 EiB
inline constexpr double kMostModelBytes = 0x1p50;          ///< sizes of a model, as model files may hold: 1 PiB
inline constexpr std::int64_t kMostAtOnce = 4'000'000;    ///< computations in one order: each takes some 900 bytes, its
                                                          ///< transfers included
inline constexpr std::int64_t kMostPending = 10'000'000;  ///< microbatches in flight: each takes some 200 bytes

inline constexpr std::int64_t kMostCombinations = 2'000;  ///< of values in a search: each is planned for

// Microbatch sizes in a search for the largest one with a plan.
inline constexpr std::int64_t kMostSizes = 1'000'000;  ///< no size from here on is considered
inline constexpr double kMostSearchWork = 3e9;         ///< nanoseconds of planning after which no more are tried
inline constexpr std::int64_t kSizesAbove = 8;         ///< that are tried above one that fits
inline constexpr std::int64_t kMostSizesAbove = 64;    ///< the same if the planner wants more of them tried
inline constexpr std::int64_t kMostSizesBelow = 1000;  ///< that are tried one by one below one that does not fit

}  // namespace stagecraft::run_limits
