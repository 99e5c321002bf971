#include "experiments/view/chrome_trace.hpp"

#include "experiments/view/tracks.hpp"
#include "experiments/view/waits.hpp"
#include "sim/io/json.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

/// In microseconds, to a millionth: doubles of fewer digits.
double written(Seconds time) { return std::round(time.value() * 1e12) / 1e6; }

std::string quoted(const std::string& text) { return to_json(Detail(text), -1); }

bool overlaps(const TimelineEntry& entry, const std::optional<TimeRange>& window) {
  return !window || (entry.start < window->end && entry.end >= window->begin);
}

/// Writes the events of one run.
class ChromeTrace {
 public:
  ChromeTrace(const TracedRun& run, const std::optional<TimeRange>& window)
      : run_(run), window_(window), tracks_(tracks_of(run.record.timeline, run.platform)) {}

  std::string text(const Detail::Record& about) {
    append(R"({{"displayTimeUnit":"ms","otherData":{},"traceEvents":[)", to_json(Detail(about), -1));
    write_names();
    write_operations();
    write_arrows();
    write_memory();
    if (run_.crosses_links) write_links();
    append("\n]}}");
    return fmt::to_string(out_);
  }

 private:
  template <class... Values>
  void append(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_), format, values...);
  }
  /// The beginning of an event: its phase, and where it belongs. Numbers start at 1: for viewers 0 is the idle process.
  void begin(char phase, std::uint32_t process, std::uint32_t thread) {
    append(
        "{}\n"
        R"({{"ph":"{}","pid":{},"tid":{})",
        is_first_ ? "" : ",", phase, process + 1, thread + 1);
    is_first_ = false;
  }
  void begin_at(char phase, Seconds at, const Track& track, std::uint32_t thread) {
    begin(phase, track.place.value(), thread);
    append(R"(,"ts":{})", written(at));
  }
  void write_name(const char* what, std::uint32_t process, std::uint32_t thread, const std::string& name) {
    begin('M', process, thread);
    append(R"(,"name":"{}_name","args":{{"name":{}}}}})", what, quoted(name));
    begin('M', process, thread);
    const bool is_process = std::string_view(what) == "process";
    append(R"(,"name":"{0}_sort_index","args":{{"sort_index":{1}}}}})", what, is_process ? process : thread);
  }

  /// Processes are numbered as places, and threads as tracks. The links are one more process.
  void write_names() {
    std::set<PlaceId> places;
    for (const Track& track : tracks_.tracks) places.insert(track.place);
    for (const MemoryChange& change : run_.record.memory) places.insert(change.place);
    for (const PlaceId place : places) write_name("process", place.value(), 0, run_.platform.place_name(place));
    for (std::uint32_t i = 0; i < tracks_.tracks.size(); ++i) {
      write_name("thread", tracks_.tracks[i].place.value(), i, name_of(tracks_.tracks[i]));
    }
  }

  void write_operations() {
    for (std::size_t i = 0; i < run_.record.timeline.size(); ++i) {
      const TimelineEntry& entry = run_.record.timeline[i];
      if (!overlaps(entry, window_)) continue;
      if (is_drawn(i)) {
        write_slice(entry, tracks_.of_entry[i]);
      } else if (entry.kind == OpKind::Barrier) {
        write_mark(entry.end, "end of an iteration");
      } else if (entry.kind == OpKind::Abandon || (entry.kind == OpKind::Setup && entry.microbatch > 0)) {
        write_mark(entry.start, "another plan");
      }
    }
  }

  void write_slice(const TimelineEntry& entry, std::uint32_t track) {
    begin_at('X', entry.start, tracks_.tracks[track], track);
    const char* kind = to_string(entry.kind);
    append(R"(,"dur":{},"cat":"{}","name":"{} {}","args":{{"microbatch":{})", written(entry.end - entry.start), kind,
           kind, entry.microbatch, entry.microbatch);
    if (!entry.stage.is_none()) append(R"(,"stage":{})", entry.stage.value());
    if (is_transfer(entry.kind)) {
      const auto [from, to] = ends_of(run_.platform, entry.from, entry.to, entry.leg);
      append(R"(,"from":{},"to":{},"bytes":{})", quoted(run_.platform.place_name(from)),
             quoted(run_.platform.place_name(to)), entry.bytes.value());
    }
    if (entry.aborted) append(R"(,"aborted":true)");
    append("}}}}");
  }

  void write_mark(Seconds at, const char* name) {
    if (tracks_.tracks.empty()) return;
    begin_at('i', at, tracks_.tracks.front(), 0);
    append(R"(,"s":"g","name":"{}"}})", name);
  }

  /// An arrow leaves its slice before the end, because a slice does not hold its end, and points to the other's start.
  void write_arrows() {
    constexpr double kLeaves = 0.75;
    const Timeline& timeline = run_.record.timeline;
    const Waits waits(run_.record);
    std::size_t count = 0;
    for (std::size_t i = 0; i < timeline.size(); ++i) {
      const TimelineEntry& entry = timeline[i];
      if (!is_drawn(i) || !overlaps(entry, window_)) continue;
      for (std::uint32_t cause : waits.of(i)) {
        // Marks hand on what they waited for.
        while (cause != Waits::kNone && !is_drawn(cause)) cause = waits.last(cause);
        if (cause == Waits::kNone || !overlaps(timeline[cause], window_)) continue;
        const TimelineEntry& earlier = timeline[cause];
        if (!is_transfer(earlier.kind) && !is_transfer(entry.kind)) continue;
        const std::uint32_t source = tracks_.of_entry[cause];
        const std::uint32_t target = tracks_.of_entry[i];
        begin_at('s', earlier.start + (earlier.end - earlier.start) * kLeaves, tracks_.tracks[source], source);
        append(R"(,"id":{},"cat":"dependency","name":"waited for"}})", count);
        begin_at('f', entry.start, tracks_.tracks[target], target);
        append(R"(,"id":{},"bp":"e","cat":"dependency","name":"waited for"}})", count);
        ++count;
      }
    }
  }

  using Held = std::map<MemoryCategory, Bytes>;  ///< by a place, once it has held some of the category

  void write_memory() {
    MemoryCourse course = run_.record.memory;
    std::ranges::stable_sort(course, {}, [](const MemoryChange& change) { return change.place; });
    Held held;
    for (std::size_t i = 0; i < course.size(); ++i) {
      const MemoryChange& change = course[i];
      held[change.category] += change.bytes;
      const bool is_last = i + 1 == course.size() || course[i + 1].place != change.place;
      if (is_last || is_later(course[i + 1].at, change.at)) write_held(change, held);
      if (is_last) held = {};
    }
  }

  /// Whether what a place holds between the two dates is written.
  [[nodiscard]] bool is_later(Seconds next, Seconds at) const {
    return next > at + date_noise(at) && (!window_ || next > window_->begin);
  }

  void write_held(const MemoryChange& change, const Held& held) {
    if (window_ && change.at >= window_->end) return;
    const Seconds at = window_ ? std::max(change.at, window_->begin) : change.at;
    begin_at('C', at, {change.place}, 0);
    append(R"(,"name":"memory","args":{{)");
    const char* separator = "";
    for (const auto& [category, bytes] : held) {
      append(R"({}"{}":{})", separator, to_string(category), bytes.value());
      separator = ",";
    }
    append("}}}}");
  }

  /// Counts the transfers on each link.
  void write_links() {
    std::map<LinkId, std::map<Seconds, std::int64_t>> changes;
    std::map<std::tuple<PlaceId, PlaceId, Leg>, std::vector<LinkId>> routes;
    Route route;
    for (const TimelineEntry& entry : run_.record.timeline) {
      if (!is_transfer(entry.kind) || entry.bytes == Bytes(0) || !overlaps(entry, window_)) continue;
      const auto [known, is_new] = routes.try_emplace({entry.from, entry.to, entry.leg});
      if (is_new && find_route(run_.platform, entry.from, entry.to, entry.leg, route)) known->second = route.links;
      for (const LinkId link : known->second) {
        ++changes[link][entry.start];
        --changes[link][entry.end];
      }
    }
    const auto process = static_cast<std::uint32_t>(run_.platform.place_count());
    if (!changes.empty()) write_name("process", process, 0, "transfers on links");
    for (const auto& [link, dates] : changes) {
      std::int64_t count = 0;
      for (const auto& [at, change] : dates) {
        if (change == 0) continue;
        count += change;
        begin_at('C', at, {PlaceId(process)}, 0);
        append(R"(,"name":{},"args":{{"transfers":{}}}}})", quoted(run_.platform.links[link].name), count);
      }
    }
  }

  [[nodiscard]] bool is_drawn(std::size_t entry) const { return tracks_.of_entry[entry] != Tracks::kNone; }

  const TracedRun& run_;
  std::optional<TimeRange> window_;
  Tracks tracks_;
  fmt::memory_buffer out_;
  bool is_first_ = true;
};

}  // namespace

std::string chrome_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window) {
  return ChromeTrace(run, window).text(about);
}

}  // namespace stagecraft
