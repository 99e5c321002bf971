#pragma once

#include "experiments/view/run_marks.hpp"
#include "experiments/view/tracks.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A run with its record.
struct TracedRun {
  const Simulation& simulation;
  const Platform& platform;
  [[nodiscard]] const Timeline& timeline() const { return simulation.record.timeline; }
  [[nodiscard]] const MemoryCourse& memory() const { return simulation.record.memory; }
};

/// An operation that is drawn on a track.
struct TraceSlice {
  std::uint32_t entry = 0;  ///< of the timeline
  std::uint32_t track = 0;
};

/// From an operation to one that waited for it last, where one of the two is a transfer.
struct TraceArrow {
  std::uint32_t from = 0;  ///< among the slices
  std::uint32_t to = 0;
};

/// Where the record has the changes of what a place holds, in the order of their dates.
struct PlaceMemory {
  PlaceId place;
  std::vector<std::uint32_t> changes;
};

/// What a place holds from an instant on, by `MemoryCategory`; none of a category that it never holds anything of.
struct TraceMemory {
  PlaceId place;
  Seconds at;
  std::array<std::optional<Bytes>, kMemoryCategories> held;
};

/// Where the timeline has the transfers that cross a link.
struct LinkTransfers {
  LinkId link;
  std::vector<std::uint32_t> entries;
};

/// How many transfers cross a link from an instant on.
struct TraceLoad {
  LinkId link;
  Seconds at;
  std::int64_t transfers = 0;
};

/// All that a viewer shows of a run.
struct TraceContent {
  std::vector<Track> tracks;
  std::vector<PlaceId> places;     ///< that have tracks or hold something, in ascending order
  std::vector<TraceSlice> slices;  ///< in the order of the record
  std::vector<RunMark> marks;      ///< in the order of time
  std::vector<TraceArrow> arrows;
  std::vector<PlaceMemory> memory;   ///< of the places that hold something, in ascending order
  std::vector<LinkTransfers> links;  ///< that something crosses, in ascending order
  std::optional<TimeRange> window;
};

/// With a window only what lies within that part of the run; arrows then have both ends within it.
/// **Cost** O(entries · log entries), some 40 bytes for each.
[[nodiscard]] TraceContent trace_content(const TracedRun& run, const std::optional<TimeRange>& window);

/// Shows what a place holds wherever that changes, after all changes of an instant, in the order of time. What it holds
/// when the window begins stands at its begin. **Cost** O(changes).
void show_memory(const MemoryCourse& course, const PlaceMemory& place, const std::optional<TimeRange>& window,
                 const std::function<void(const TraceMemory&)>& show);

/// Shows the transfers on a link wherever their number changes, as `show_memory`. **Cost** O(transfers · log
/// transfers).
void show_loads(const Timeline& timeline, const LinkTransfers& link, const std::function<void(const TraceLoad&)>& show);

/// The name of an operation in a viewer: its kind and its microbatch, as in `forward 3`.
[[nodiscard]] std::string slice_name(const TimelineEntry& entry);

/// The bytes of all categories.
[[nodiscard]] Bytes sum_of(const TraceMemory& memory);

/// The start or the end of a slice.
struct SliceEvent {
  double at = 0.0;  ///< a whole number of ticks
  std::uint32_t slice = 0;
  bool is_end = false;
  bool is_brief = false;  ///< the slice has no length
};

/// The starts and ends of all slices in the order of time.
///
/// No two slices of a track overlap after rounding either: one that starts, by rounding, before the end of the one
/// before it starts at that end. Of one date, the ends of slices come first, then the starts in the order of
/// operations, each of no length directly followed by its end. So an event never comes before one that it waits for.
/// **Cost** O(slices · log slices), 36 bytes for each.
[[nodiscard]] std::vector<SliceEvent> slice_events(const TraceContent& content, const Timeline& timeline,
                                                   double ticks_in_second);

}  // namespace stagecraft
