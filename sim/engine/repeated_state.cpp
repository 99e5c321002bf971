#include "sim/engine/repeated_state.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
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

/// What both runs begin with on one track.
struct Begin {
  Entries entries;
  std::size_t step = 0;  ///< entries by which the longer run has more
};

/// On the tracks on which the longer run has more.
std::vector<Begin> common_begins(const Tracks& before, const Tracks& after, RunClock clock) {
  std::vector<Begin> begins;
  Seconds until = kNever;
  for (const auto& [track, entries] : before) {
    const auto other = after.find(track);
    if (other == after.end()) return {};
    until = std::min(until, first_difference(entries, other->second, clock));
    if (other->second.size() > entries.size()) begins.push_back({entries, other->second.size() - entries.size()});
  }
  for (Begin& begin : begins) {
    const auto is_later = [&](const TimelineEntry* entry) { return entry->start >= until; };
    begin.entries.erase(std::ranges::find_if(begin.entries, is_later), begin.entries.end());
  }
  return begins;
}

/// By how much later everything in the last two thirds of the track comes again after so many steps, if it does.
std::optional<Seconds> delay_after(const Begin& begin, std::size_t steps, RunClock clock) {
  const std::size_t by = begin.step * steps;
  const std::size_t count = begin.entries.size();
  if (by == 0 || by > count / 3) return std::nullopt;
  const auto delay = [&](std::size_t i) { return begin.entries[i + by]->start - begin.entries[i]->start; };
  const Seconds first = delay(count / 3);
  for (std::size_t i = count / 3; i + by < count; ++i) {
    const Seconds noise = noise_at(begin.entries[i + by]->start, clock);
    if (delay(i) - first > noise || first - delay(i) > noise) return std::nullopt;
  }
  return first;
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

std::optional<std::int64_t> repeating_steps(const Timeline& shorter, const Timeline& longer, RunClock clock) {
  const std::vector<Begin> begins = common_begins(tracks_of(shorter), tracks_of(longer), clock);
  std::size_t most = 0;
  for (const Begin& begin : begins) most = std::max(most, begin.entries.size() / begin.step / 3);
  for (std::size_t steps = 1; steps <= most; ++steps) {
    const std::optional<Seconds> delay = delay_after(begins.front(), steps, clock);
    const auto has_it_too = [&](const Begin& begin) {
      const std::optional<Seconds> own = delay_after(begin, steps, clock);
      return own && std::abs((*own - *delay).value()) <= noise_at(begin.entries.back()->start, clock).value();
    };
    if (delay && std::ranges::all_of(begins, has_it_too)) return static_cast<std::int64_t>(steps);
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
