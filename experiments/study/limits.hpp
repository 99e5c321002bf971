#pragma once

#include "sim/base/quantity.hpp"

#include <cstdint>

namespace stagecraft::study_limits {

// Upper limits for a study. The limits for a single run are in experiments/run/limits.hpp.

inline constexpr std::uint64_t kMostCells = 100'000;
inline constexpr std::uint64_t kMostValues = 2'000'000;  ///< of all cells together
inline constexpr std::uint64_t kMostNodes = 10'000;      ///< YAML nodes of one value, which every cell stores
inline constexpr std::int64_t kMostWorkers = 4096;
inline constexpr std::int64_t kMostParts = 100'000;  ///< of a study (`--shard I/N`)
inline constexpr std::int64_t kMostSeeds = 1'000'000;

// Limits of a cell that a study file may ask for.
inline constexpr std::int64_t kMostRetries = 100;
inline constexpr Bytes kLeastMemory(std::int64_t{64} << 20);
inline constexpr Seconds kLeastTime(1e-3);
inline constexpr double kLeastFactor = 0.001;  ///< of `vary`
inline constexpr double kMostFactor = 1000.0;
inline constexpr Seconds kMostTime(1000.0 * 24 * 3600);

}  // namespace stagecraft::study_limits
