#include "experiments/view/trace_content.hpp"

#include "experiments/view/waits.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

using Window = std::optional<TimeRange>;

bool runs_within(const TimelineEntry& entry, const Window& window) {
  return !window || (entry.start < window->end && entry.end >= window->begin);
}

std::vector<PlaceId> shown_places(const std::vector<Track>& tracks, const std::vector<PlaceMemory>& memory) {
  std::set<PlaceId> places;
  for (const Track& track : tracks) places.insert(track.place);
  for (const PlaceMemory& each : memory) places.insert(each.place);
  return {places.begin(), places.end()};
}

/// The slice of each entry that is drawn within the window, for `arrows_of`.
constexpr std::uint32_t kNoSlice = ~std::uint32_t{0};
using SliceOfEntry = std::vector<std::uint32_t>;

SliceOfEntry add_slices(const Timeline& timeline, const Tracks& tracks, const Window& window, TraceContent& content) {
  SliceOfEntry numbers(timeline.size(), kNoSlice);
  for (std::uint32_t i = 0; i < timeline.size(); ++i) {
    if (tracks.of_entry[i] == Tracks::kNone || !runs_within(timeline[i], window)) continue;
    numbers[i] = static_cast<std::uint32_t>(content.slices.size());
    content.slices.push_back({i, tracks.of_entry[i]});
  }
  return numbers;
}

/// What an operation waited for last; marks hand on what they waited for.
std::uint32_t cause_of(const Waits& waits, const Tracks& tracks, std::uint32_t entry) {
  std::uint32_t cause = waits.last(entry);
  while (cause != Waits::kNone && tracks.of_entry[cause] == Tracks::kNone) cause = waits.last(cause);
  return cause;
}

std::vector<TraceArrow> arrows_of(const RunRecord& record, const Tracks& tracks, const SliceOfEntry& slices) {
  std::vector<TraceArrow> arrows;
  const Waits waits(record, Waits::Of::Dependencies);
  for (std::uint32_t i = 0; i < slices.size(); ++i) {
    if (slices[i] == kNoSlice) continue;
    const std::uint32_t cause = cause_of(waits, tracks, i);
    if (cause == Waits::kNone || slices[cause] == kNoSlice) continue;
    if (!is_transfer(record.timeline[cause].kind) && !is_transfer(record.timeline[i].kind)) continue;
    arrows.push_back({slices[cause], slices[i]});
  }
  return arrows;
}

std::vector<PlaceMemory> memory_of(const MemoryCourse& course) {
  std::map<PlaceId, std::vector<std::uint32_t>> places;
  for (std::uint32_t i = 0; i < course.size(); ++i) places[course[i].place].push_back(i);
  std::vector<PlaceMemory> memory;
  for (auto& [place, changes] : places) memory.push_back({place, std::move(changes)});
  return memory;
}

std::vector<LinkTransfers> links_of(const TracedRun& run, const Window& window) {
  std::map<LinkId, std::vector<std::uint32_t>> transfers;
  std::map<std::tuple<PlaceId, PlaceId, Leg>, std::vector<LinkId>> routes;
  Route route;
  const Timeline& timeline = run.timeline();
  for (std::uint32_t i = 0; i < timeline.size(); ++i) {
    const TimelineEntry& entry = timeline[i];
    if (!is_transfer(entry.kind) || entry.bytes == Bytes(0) || !runs_within(entry, window)) continue;
    const auto [known, is_new] = routes.try_emplace({entry.from, entry.to, entry.leg});
    if (is_new && find_route(run.platform, entry.from, entry.to, entry.leg, route)) known->second = route.links;
    for (const LinkId link : known->second) transfers[link].push_back(i);
  }
  std::vector<LinkTransfers> links;
  for (auto& [link, entries] : transfers) links.push_back({link, std::move(entries)});
  return links;
}

/// Whether a change happens at the instant of the one before it.
bool is_one_instant(Seconds at, Seconds next) { return next <= at + date_noise(at); }

}  // namespace

TraceContent trace_content(const TracedRun& run, const std::optional<TimeRange>& window) {
  const Timeline& timeline = run.timeline();
  const Tracks tracks = tracks_of(timeline, run.platform);
  TraceContent content;
  content.tracks = tracks.tracks;
  content.memory = memory_of(run.memory());
  content.places = shown_places(tracks.tracks, content.memory);
  const SliceOfEntry slices = add_slices(timeline, tracks, window, content);
  content.marks = run_marks(run.simulation, run.platform, window);
  content.arrows = arrows_of(run.simulation.record, tracks, slices);
  if (run.simulation.choices.network == NetworkModel::Platform) content.links = links_of(run, window);
  content.window = window;
  return content;
}

void show_memory(const MemoryCourse& course, const PlaceMemory& place, const std::optional<TimeRange>& window,
                 const std::function<void(const TraceMemory&)>& show) {
  TraceMemory level{place.place, {}, {}};
  for (const std::uint32_t i : place.changes) level.held[static_cast<std::size_t>(course[i].category)] = Bytes(0);
  TraceMemory shown;
  for (std::size_t i = 0; i < place.changes.size(); ++i) {
    const MemoryChange& change = course[place.changes[i]];
    *level.held[static_cast<std::size_t>(change.category)] += change.bytes;
    if (window && change.at >= window->end) return;
    if (i + 1 < place.changes.size()) {
      const Seconds next = course[place.changes[i + 1]].at;
      if (is_one_instant(change.at, next) || (window && next <= window->begin)) continue;
    }
    if (level.held == shown.held) continue;
    level.at = window ? std::max(change.at, window->begin) : change.at;
    show(level);
    shown = level;
  }
}

void show_loads(const Timeline& timeline, const LinkTransfers& link,
                const std::function<void(const TraceLoad&)>& show) {
  std::vector<std::pair<Seconds, std::int64_t>> changes;
  for (const std::uint32_t i : link.entries) {
    changes.emplace_back(timeline[i].start, 1);
    changes.emplace_back(timeline[i].end, -1);
  }
  std::ranges::sort(changes);
  TraceLoad load{link.link, {}, 0};
  std::int64_t shown = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    load.transfers += changes[i].second;
    load.at = changes[i].first;
    const bool is_last = i + 1 == changes.size() || !is_one_instant(load.at, changes[i + 1].first);
    if (!is_last || load.transfers == shown) continue;
    show(load);
    shown = load.transfers;
  }
}

std::string slice_name(const TimelineEntry& entry) {
  return std::string(to_string(entry.kind)) + ' ' + std::to_string(entry.microbatch);
}

Bytes sum_of(const TraceMemory& memory) {
  Bytes sum(0);
  for (const std::optional<Bytes>& held : memory.held) sum += held.value_or(Bytes(0));
  return sum;
}

std::vector<SliceEvent> slice_events(const TraceContent& content, const Timeline& timeline, double ticks_in_second) {
  std::vector<std::uint32_t> order(content.slices.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    const TimelineEntry& entry = timeline[content.slices[i].entry];
    return std::pair(entry.start, entry.id);
  });
  const auto ticks = [&](Seconds time) { return std::round(time.value() * ticks_in_second); };
  std::vector<double> free_at(content.tracks.size(), 0.0);
  std::vector<std::uint32_t> place_of(order.size());  // of a slice in the order
  std::vector<SliceEvent> events;
  events.reserve(2 * order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const TraceSlice& slice = content.slices[order[i]];
    const TimelineEntry& entry = timeline[slice.entry];
    double& free = free_at[slice.track];
    const double begin = std::max(free, ticks(entry.start));
    free = std::max(begin, ticks(entry.end));
    place_of[order[i]] = i;
    events.push_back({begin, order[i], false, free == begin});
    events.push_back({free, order[i], true, free == begin});
  }
  std::ranges::sort(events, {}, [&](const SliceEvent& event) {
    const bool only_ends = event.is_end && !event.is_brief;
    return std::tuple(event.at, !only_ends, place_of[event.slice], event.is_end);
  });
  return events;
}

}  // namespace stagecraft
