#pragma once

#include "sim/model/timeline.hpp"
#include "tests/replay/layer_times.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

namespace stagecraft::testing {

/// The microbatches after which all stages have updated their weights, under each plan of the run. A replica that has
/// had no forward is behind all others. (The plans of a replay are not known here: it runs in a process of its own.)
inline std::int64_t longest_round(const Timeline& timeline) {
  std::map<StageId, std::set<PlaceId>> replicas;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == OpKind::Forward) replicas[entry.stage].insert(entry.from);
  }
  std::int64_t round = 1;
  for (const auto& [stage, places] : replicas) round = std::lcm(round, std::ssize(places));
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
