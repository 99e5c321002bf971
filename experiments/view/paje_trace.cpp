#include "experiments/view/paje_trace.hpp"

#include "experiments/view/text_parts.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kPicoseconds = 1e12;  ///< in a second

/// The events of the file, by their numbers, with their fields.
constexpr const char* kHeader = R"(%EventDef PajeDefineContainerType 0
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineStateType 1
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeDefineEventType 3
%  Alias string
%  Type string
%  Name string
%EndEventDef
%EventDef PajeDefineLinkType 4
%  Alias string
%  Type string
%  StartContainerType string
%  EndContainerType string
%  Name string
%EndEventDef
%EventDef PajeDefineEntityValue 5
%  Alias string
%  Type string
%  Name string
%  Color color
%EndEventDef
%EventDef PajeCreateContainer 6
%  Time date
%  Alias string
%  Type string
%  Container string
%  Name string
%EndEventDef
%EventDef PajeDestroyContainer 7
%  Time date
%  Type string
%  Name string
%EndEventDef
%EventDef PajePushState 8
%  Time date
%  Type string
%  Container string
%  Value string
%  Microbatch int
%  Stage int
%  Aborted int
%EndEventDef
%EventDef PajePushState 9
%  Time date
%  Type string
%  Container string
%  Value string
%  Microbatch int
%  Stage int
%  Aborted int
%  From string
%  To string
%  Bytes double
%EndEventDef
%EventDef PajePopState 10
%  Time date
%  Type string
%  Container string
%EndEventDef
%EventDef PajeSetVariable 11
%  Time date
%  Type string
%  Container string
%  Value double
%EndEventDef
%EventDef PajeNewEvent 12
%  Time date
%  Type string
%  Container string
%  Value string
%EndEventDef
%EventDef PajeStartLink 13
%  Time date
%  Type string
%  Container string
%  Value string
%  StartContainer string
%  Key string
%EndEventDef
%EventDef PajeEndLink 14
%  Time date
%  Type string
%  Container string
%  Value string
%  EndContainer string
%  Key string
%EndEventDef
)";

constexpr const char* kCategoryColor = R"("0.45 0.45 0.45")";

const char* color_of(OpKind kind) {
  switch (kind) {
    case OpKind::Forward: return "0.30 0.55 0.80";
    case OpKind::Backward:
    case OpKind::BackwardInput: return "0.90 0.60 0.20";
    case OpKind::BackwardWeight: return "0.95 0.75 0.40";
    case OpKind::ForwardBackward: return "0.60 0.58 0.50";
    case OpKind::Recompute: return "0.55 0.75 0.90";
    case OpKind::Update: return "0.50 0.35 0.65";
    case OpKind::AllReduce: return "0.75 0.35 0.55";
    case OpKind::SwapOut:
    case OpKind::SwapIn: return "0.55 0.40 0.30";
    default: return "0.35 0.65 0.40";
  }
}

/// A name between double quotes.
std::string paje_name(std::string name) {
  constexpr unsigned char kFirstPrintable = 0x20;
  for (char& c : name) {
    if (c == '"') c = '\'';
    if (static_cast<unsigned char>(c) < kFirstPrintable) c = ' ';
  }
  return '"' + name + '"';
}

/// Writes one run. Aliases: types are capital letters; places, tracks and links are p, t and l with their numbers.
class PajeTrace {
 public:
  PajeTrace(const TracedRun& run, const std::optional<TimeRange>& window, const TextSink& sink)
      : run_(run), timeline_(run.timeline()), content_(trace_content(run, window)), out_(sink) {}

  void write_all(const Detail::Record& about) {
    out_.part() += kHeader;
    for (const auto& [key, value] : about) {
      if (const auto* text = std::get_if<std::string>(&value.value)) write("# {}: {}", key, paje_name(*text));
    }
    write_types();
    write_containers();
    add_states();
    add_arrows();
    for (const PlaceMemory& place : content_.memory) add_memory(place);
    for (const LinkTransfers& link : content_.links) {
      show_loads(timeline_, link,
                 [&](const TraceLoad& load) { add(ticks(load.at), What::Load, load.link.value(), load.transfers); });
    }
    for (std::uint32_t i = 0; i < content_.marks.size(); ++i) add(ticks(content_.marks[i].at), What::Mark, i);
    write_events();
    out_.finish();
  }

 private:
  enum class What : std::uint8_t { Push, Pop, Leave, Arrive, Memory, Held, Load, Mark };
  /// A line of the file.
  struct Event {
    double at = 0.0;  ///< in picoseconds
    std::int64_t value = 0;
    std::uint32_t index = 0;  ///< of the slice, the arrow, the place, the link or the mark
    What what = What::Push;
    std::uint8_t category = 0;  ///< of what is held
  };
  struct Ticks {
    double begin = 0.0;
    double end = 0.0;
  };

  template <class... Values>
  void append(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_.part()), format, values...);
  }
  template <class... Values>
  void write(fmt::format_string<const Values&...> format, const Values&... values) {
    append(format, values...);
    append("\n");
  }
  void add(double at, What what, std::uint32_t index, std::int64_t value = 0, std::uint8_t category = 0) {
    events_.push_back({at, value, index, what, category});
  }
  static double ticks(Seconds at) { return std::round(at.value() * kPicoseconds); }
  [[nodiscard]] const TimelineEntry& entry_of(const TraceSlice& slice) const { return timeline_[slice.entry]; }

  void write_types() {
    write(R"(0 R 0 "run")");
    write(R"(0 P R "place")");
    write(R"(0 T P "track")");
    write(R"(0 L R "link")");
    write(R"(1 S T "operation")");
    write(R"(2 M P "memory" {})", kCategoryColor);
    for (std::size_t i = 0; i < kMemoryCategories; ++i) {
      write(R"(2 M{} P "memory: {}" {})", i, to_string(static_cast<MemoryCategory>(i)), kCategoryColor);
    }
    write(R"(2 U L "transfers" {})", kCategoryColor);
    write(R"(3 E R "mark")");
    write(R"(4 D R T T "dependency")");
    std::set<OpKind> kinds;
    for (const TraceSlice& slice : content_.slices) kinds.insert(entry_of(slice).kind);
    for (const OpKind kind : kinds) write(R"(5 {0} S "{0}" "{1}")", to_string(kind), color_of(kind));
  }

  /// The name of a track has that of its place before it, because tools list containers without those around them.
  void write_containers() {
    write(R"(6 0 r R 0 "run")");
    for (const PlaceId place : content_.places) {
      write("6 0 p{} P r {}", place.value(), paje_name(run_.platform.place_name(place)));
    }
    for (std::size_t i = 0; i < content_.tracks.size(); ++i) {
      const Track& track = content_.tracks[i];
      write("6 0 t{} T p{} {}", i, track.place.value(),
            paje_name(run_.platform.place_name(track.place) + ' ' + name_of(track)));
    }
    for (const LinkTransfers& each : content_.links) {
      write("6 0 l{} L r {}", each.link.value(), paje_name(run_.platform.links[each.link].name));
    }
  }

  void add_states() {
    dates_.resize(content_.slices.size());
    for (const SliceEvent& each : slice_events(content_, timeline_, kPicoseconds)) {
      (each.is_end ? dates_[each.slice].end : dates_[each.slice].begin) = each.at;
      add(each.at, each.is_end ? What::Pop : What::Push, each.slice);
    }
  }

  void add_arrows() {
    for (std::uint32_t i = 0; i < content_.arrows.size(); ++i) {
      const auto [from, to] = content_.arrows[i];
      const double leaves = dates_[from].end;
      add(leaves, What::Leave, i);
      add(std::max(leaves, dates_[to].begin), What::Arrive, i);
    }
  }

  /// The sum, and each category where it changes.
  void add_memory(const PlaceMemory& place) {
    std::array<std::optional<Bytes>, kMemoryCategories> last;
    show_memory(run_.memory(), place, content_.window, [&](const TraceMemory& memory) {
      const double at = ticks(memory.at);
      const std::uint32_t index = memory.place.value();
      add(at, What::Memory, index, sum_of(memory).value());
      for (std::uint8_t i = 0; i < kMemoryCategories; ++i) {
        if (memory.held[i] != last[i]) add(at, What::Held, index, memory.held[i]->value(), i);
      }
      last = memory.held;
    });
  }

  void write_event(const Event& event) {
    switch (event.what) {
      case What::Push: write_push(event); return;
      case What::Pop: write_line(10, event, "S t{}", content_.slices[event.index].track); return;
      case What::Leave: write_arrow(13, event, content_.arrows[event.index].from); return;
      case What::Arrive: write_arrow(14, event, content_.arrows[event.index].to); return;
      case What::Memory: write_line(11, event, "M p{} {}", event.index, event.value); return;
      case What::Held: write_line(11, event, "M{} p{} {}", event.category, event.index, event.value); return;
      case What::Load: write_line(11, event, "U l{} {}", event.index, event.value); return;
      case What::Mark: write_line(12, event, "E r {}", paje_name(content_.marks[event.index].name)); return;
    }
  }
  /// A line with its number and its date.
  template <class... Values>
  void write_line(int number, const Event& event, fmt::format_string<const Values&...> rest, const Values&... values) {
    append("{} {:.12f} ", number, event.at / kPicoseconds);
    write(rest, values...);
  }
  void write_arrow(int number, const Event& event, std::uint32_t slice) {
    write_line(number, event, R"(D r "waited for" t{} {})", content_.slices[slice].track, event.index);
  }

  /// No stage is -1, because Paje has no empty fields.
  void write_push(const Event& event) {
    const TraceSlice& slice = content_.slices[event.index];
    const TimelineEntry& entry = entry_of(slice);
    const std::int64_t stage = entry.stage.is_none() ? -1 : std::int64_t{entry.stage.value()};
    const bool is_moved = is_transfer(entry.kind);
    append("{} {:.12f} S t{} {} {} {} {}", is_moved ? 9 : 8, event.at / kPicoseconds, slice.track,
           to_string(entry.kind), entry.microbatch, stage, entry.aborted ? 1 : 0);
    if (is_moved) {
      const auto [from, to] = ends_of(run_.platform, entry.from, entry.to, entry.leg);
      append(" {} {} {}", paje_name(run_.platform.place_name(from)), paje_name(run_.platform.place_name(to)),
             entry.bytes.value());
    }
    append("\n");
  }

  /// In the order of time, which the format asks for.
  void write_events() {
    std::ranges::stable_sort(events_, {}, &Event::at);
    for (const Event& event : events_) write_event(event);
    const double end = events_.empty() ? 0.0 : events_.back().at / kPicoseconds;
    for (const LinkTransfers& each : content_.links) write("7 {:.12f} L l{}", end, each.link.value());
    for (std::size_t i = 0; i < content_.tracks.size(); ++i) write("7 {:.12f} T t{}", end, i);
    for (const PlaceId place : content_.places) write("7 {:.12f} P p{}", end, place.value());
    write("7 {:.12f} R r", end);
  }

  const TracedRun& run_;
  const Timeline& timeline_;
  TraceContent content_;
  std::vector<Ticks> dates_;  ///< by slice
  std::vector<Event> events_;
  TextParts out_;
};

}  // namespace

void paje_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                const TextSink& sink) {
  PajeTrace(run, window, sink).write_all(about);
}

}  // namespace stagecraft
