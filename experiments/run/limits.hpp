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

inline constexpr double kMostComputations = 1e9;          ///< of one microbatch on one stage each
inline constexpr double kMostBytes = 0x1p60;              ///< of all memory together: 1 EiB
inline constexpr double kMostModelBytes = 0x1p50;         ///< sizes of a model, as model files may hold: 1 PiB
inline constexpr std::int64_t kMostAtOnce = 4'000'000;    ///< computations in one order: each takes some 900 bytes, its
                                                          ///< transfers included
inline constexpr std::int64_t kMostPending = 10'000'000;  ///< microbatches in flight: each takes some 200 bytes

inline constexpr std::int64_t kMostSizes =
    1'000'000;  ///< microbatch sizes that are considered in the search for a smaller one with a plan

}  // namespace stagecraft::run_limits
