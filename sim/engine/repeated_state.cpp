#include "sim/engine/repeated_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// How often the longer run has to do what it does in a period.
constexpr double kTimes = 3.0;

constexpr double kRounding = 2e-12;   ///< of a date that is a sum
constexpr double kLeastPeriod = 1e6;  ///< times the noise: a part that falls behind by less in each period is not seen

/// Operations of one kind at one place, or from one place to another: the ones that a run has one after the other.
using Track = std::tuple<OpKind, std::uint16_t, Leg, StageId, PlaceId, PlaceId>;
using Tracks = std::map<Track, std::vector<const TimelineEntry*>>;

/// Without marks, which take no time and stand where a run is measured.
Tracks tracks_of(const Timeline& run) {
  Tracks tracks;
  for (const TimelineEntry& entry : run) {
    if (entry.kind == OpKind::Barrier) continue;
    tracks[{entry.kind, entry.chunk, entry.leg, entry.stage, entry.from, entry.to}].push_back(&entry);
  }
  return tracks;
}

Seconds end_of(const Timeline& run) {
  Seconds end;
  for (const TimelineEntry& entry : run) end = std::max(end, entry.end);
  return end;
}

Seconds noise_at(Seconds date, RunClock clock) {
  return clock == RunClock::SimGrid ? date_noise(date) : date * kRounding;
}

bool are_one_date(Seconds a, Seconds b, RunClock clock) {
  const Seconds noise = noise_at(std::max(a, b), clock);
  return a - b <= noise && b - a <= noise;
}

/// Whether `later` is the same operation, by so many microbatches and so much time later.
bool is_same(const TimelineEntry& entry, const TimelineEntry& later, std::uint32_t microbatches, Seconds time,
             RunClock clock) {
  return later.microbatch - entry.microbatch == microbatches && entry.bytes == later.bytes &&
         are_one_date(entry.start + time, later.start, clock) && are_one_date(entry.end + time, later.end, clock);
}

using Entries = std::vector<const TimelineEntry*>;

std::size_t common_begin(const Entries& shorter, const Entries& longer, RunClock clock) {
  const std::size_t most = std::min(shorter.size(), longer.size());
  std::size_t count = 0;
  while (count < most && is_same(*shorter[count], *longer[count], 0, Seconds(0), clock)) ++count;
  return count;
}

std::size_t common_end(const Entries& shorter, const Entries& longer, Seconds period, RunClock clock) {
  const std::uint32_t microbatches = longer.back()->microbatch - shorter.back()->microbatch;
  const std::size_t most = std::min(shorter.size(), longer.size());
  std::size_t count = 0;
  while (count < most && is_same(*shorter[shorter.size() - 1 - count], *longer[longer.size() - 1 - count], microbatches,
                                 period, clock)) {
    ++count;
  }
  return count;
}

/// The first instant at which one run starts on the track what the other one does not.
Seconds first_difference(const Entries& shorter, const Entries& longer, RunClock clock) {
  const std::size_t begin = common_begin(shorter, longer, clock);
  Seconds first = kNever;
  for (const Entries* own : {&shorter, &longer}) {
    for (std::size_t i = begin; i < own->size(); ++i) first = std::min(first, (*own)[i]->start);
  }
  return first;
}

/// The last end on the track of what the longer run does not do `period` later.
Seconds last_difference(const Entries& shorter, const Entries& longer, Seconds period, RunClock clock) {
  const std::size_t end = shorter.size() - common_end(shorter, longer, period, clock);
  Seconds last;
  for (std::size_t i = 0; i < end; ++i) last = std::max(last, shorter[i]->end);
  return last;
}

/// What a run does on one track.
struct Series {
  Entries entries;
  std::size_t step = 0;  ///< entries that some successive microbatches have

  /// By how much later everything between the first third and the last quarter comes again after so many steps, if it
  /// does.
  [[nodiscard]] std::optional<Seconds> delay_after(std::size_t steps, RunClock clock) const {
    const std::size_t by = step * steps;
    if (by > entries.size() / 4) return std::nullopt;
    const auto delay = [&](std::size_t i) { return entries[i + by]->start - entries[i]->start; };
    const std::size_t begin = entries.size() / 3;
    for (std::size_t i = begin; i + by < entries.size() * 3 / 4; ++i) {
      const Seconds noise = noise_at(entries[i + by]->start, clock);
      if (delay(i) - delay(begin) > noise || delay(begin) - delay(i) > noise) return std::nullopt;
    }
    return delay(begin);
  }
};

/// On the tracks on which so many successive microbatches have no more than a quarter of all.
std::vector<Series> series_of(Tracks tracks, std::uint32_t microbatches) {
  std::vector<Series> series;
  for (auto& [track, entries] : tracks) {
    const std::uint32_t first = entries[entries.size() / 3]->microbatch;
    const auto is_in_step = [&](const TimelineEntry* entry) { return entry->microbatch - first < microbatches; };
    const auto step = static_cast<std::size_t>(std::ranges::count_if(entries, is_in_step));
    if (step <= entries.size() / 4) series.push_back({std::move(entries), step});
  }
  return series;
}

}  // namespace

std::optional<RepeatedState> repeated_state(const Timeline& shorter, const Timeline& longer, RunClock clock) {
  RepeatedState common{Seconds(0), kNever, end_of(longer) - end_of(shorter)};
  if (common.period <= noise_at(end_of(longer), clock) * kLeastPeriod) return std::nullopt;
  const Tracks before = tracks_of(shorter);
  const Tracks after = tracks_of(longer);
  if (before.size() != after.size()) return std::nullopt;
  for (auto own = before.begin(), other = after.begin(); own != before.end(); ++own, ++other) {
    if (own->first != other->first) return std::nullopt;
    common.until = std::min(common.until, first_difference(own->second, other->second, clock));
    common.from = std::max(common.from, last_difference(own->second, other->second, common.period, clock));
  }
  return common.times() >= kTimes ? std::optional(common) : std::nullopt;
}

std::optional<std::int64_t> repeating_steps(const Timeline& run, std::int64_t microbatches, RunClock clock) {
  const std::vector<Series> all = series_of(tracks_of(run), static_cast<std::uint32_t>(microbatches));
  std::size_t most = 0;
  for (const Series& series : all) most = std::max(most, series.entries.size() / series.step / 4);
  for (std::size_t steps = 1; steps <= most; ++steps) {
    const std::optional<Seconds> delay = all.front().delay_after(steps, clock);
    const auto has_it_too = [&](const Series& series) {
      const std::optional<Seconds> own = series.delay_after(steps, clock);
      return own && std::abs((*own - *delay).value()) <= noise_at(series.entries.back()->start, clock).value();
    };
    if (delay && std::ranges::all_of(all, has_it_too)) return static_cast<std::int64_t>(steps);
  }
  return std::nullopt;
}

bool are_alike(const Timeline& a, const Timeline& b) {
  const Tracks those_of_b = tracks_of(b);
  return a.size() == b.size() && std::ranges::all_of(tracks_of(a), [&](const auto& track) {
           const auto other = those_of_b.find(track.first);
           return other != those_of_b.end() && other->second.size() == track.second.size() &&
                  common_begin(track.second, other->second, RunClock::SimGrid) == track.second.size();
         });
}

}  // namespace stagecraft
