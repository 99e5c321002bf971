#pragma once

#include "sim/base/ticks.hpp"

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

namespace stagecraft::vpipe {

inline constexpr Ticks kNoStage = std::numeric_limits<Ticks>::max();

/// The time of a stage with the units [begin, end), or `kNoStage`. It never falls as `begin` goes down.
using TimeOfStage = std::function<Ticks(std::size_t stage, std::size_t begin, std::size_t end)>;

/// The cuts with the least largest time of a stage; of these the ones with the least second largest, and so on. Of
/// several such cuts they are those with the earliest last cut, of these those with the earliest cut before it, and so
/// on. A prefix of the best cuts is itself best, because two lists of times that are sorted by decreasing size compare
/// alike with and without a time in common. So a dynamic program over prefixes finds them.
/// **Shape** the first unit of every stage, and the number of units; empty if there are no such stages.
/// **Requires** at least as many units as stages.
/// **Cost** O(units² · stages) times and comparisons of lists at worst; 8 bytes × 2 · units · stages.
[[nodiscard]] std::vector<std::size_t> least_sorted_cuts(std::size_t units, std::size_t stages,
                                                         const TimeOfStage& time);

}  // namespace stagecraft::vpipe
