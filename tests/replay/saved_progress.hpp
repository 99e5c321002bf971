#pragma once

#include "sim/model/plan.hpp"
#include "sim/model/timeline.hpp"
#include "tests/replay/layer_times.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace stagecraft::testing {

/// The microbatches after which all stages of the plan have updated their weights.
inline std::int64_t round_of(const Plan& plan) {
  std::int64_t round = 1;
  for (const Stage& stage : plan.stages) round = std::lcm(round, std::ssize(stage.replicas));
  return round;
}

/// A device that saves a checkpoint does nothing else.
inline void check_saves(const Timeline& timeline) {
  for (const TimelineEntry& save : timeline) {
    if (save.kind != OpKind::Save) continue;
    for (const TimelineEntry& entry : timeline) {
      if (!is_compute(entry.kind) || entry.from != save.from) continue;
      CHECK(std::min(entry.end, save.end) - std::max(entry.start, save.start) <= kSameDate);
    }
  }
}

/// Whether a save of the state before that microbatch, or of a later one, had ended by then. The state before the first
/// one need not be saved.
inline bool was_saved(const Timeline& timeline, std::int64_t before, Seconds by) {
  if (before == 0) return true;
  return std::ranges::any_of(timeline, [&](const TimelineEntry& entry) {
    const bool is_whole = entry.kind == OpKind::Save && !entry.aborted;
    return is_whole && entry.end <= by + kSameDate && std::int64_t{entry.microbatch} + 1 >= before;
  });
}

}  // namespace stagecraft::testing
