#include "experiments/view/paje_trace.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
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
  PajeTrace(const TracedRun& run, const std::optional<TimeRange>& window)
      : run_(run), timeline_(run.timeline()), content_(trace_content(run, window)) {}

  std::string text(const Detail::Record& about) {
    out_ = kHeader;
    for (const auto& [key, value] : about) {
      if (const auto* text = std::get_if<std::string>(&value.value)) write("# {}: {}", key, paje_name(*text));
    }
    write_types();
    write_containers();
    add_states();
    add_arrows();
    add_memory();
    for (const TraceLoad& load : content_.loads) {
      add(ticks(load.at), fmt::format("U l{} {}", load.link.value(), load.transfers), 11);
    }
    for (const RunMark& mark : content_.marks) add(ticks(mark.at), fmt::format("E r {}", paje_name(mark.name)), 12);
    write_events();
    return std::move(out_);
  }

 private:
  /// A line of the file after its number and its date.
  struct Event {
    double at = 0.0;  ///< in picoseconds
    int number = 0;
    std::string rest;
  };
  struct Ticks {
    double begin = 0.0;
    double end = 0.0;
  };

  template <class... Values>
  void write(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_), format, values...);
    out_ += '\n';
  }
  void add(double at, std::string rest, int number) { events_.push_back({at, number, std::move(rest)}); }
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
    for (const LinkId link : links()) {
      write("6 0 l{} L r {}", link.value(), paje_name(run_.platform.links[link].name));
    }
  }
  [[nodiscard]] std::set<LinkId> links() const {
    std::set<LinkId> links;
    for (const TraceLoad& load : content_.loads) links.insert(load.link);
    return links;
  }

  void add_states() {
    dates_.resize(content_.slices.size());
    for (const SliceEvent& each : slice_events(content_, timeline_, kPicoseconds)) {
      const TraceSlice& slice = content_.slices[each.slice];
      (each.is_end ? dates_[each.slice].end : dates_[each.slice].begin) = each.at;
      if (each.is_end) {
        add(each.at, fmt::format("S t{}", slice.track), 10);
      } else {
        add_push(each.at, entry_of(slice), slice.track);
      }
    }
  }

  /// No stage is -1, because Paje has no empty fields.
  void add_push(double at, const TimelineEntry& entry, std::uint32_t track) {
    const std::int64_t stage = entry.stage.is_none() ? -1 : std::int64_t{entry.stage.value()};
    std::string rest =
        fmt::format("S t{} {} {} {} {}", track, to_string(entry.kind), entry.microbatch, stage, entry.aborted ? 1 : 0);
    if (!is_transfer(entry.kind)) {
      add(at, std::move(rest), 8);
      return;
    }
    const auto [from, to] = ends_of(run_.platform, entry.from, entry.to, entry.leg);
    rest += fmt::format(" {} {} {}", paje_name(run_.platform.place_name(from)), paje_name(run_.platform.place_name(to)),
                        entry.bytes.value());
    add(at, std::move(rest), 9);
  }

  void add_arrows() {
    for (std::size_t i = 0; i < content_.arrows.size(); ++i) {
      const auto [from, to] = content_.arrows[i];
      const double leaves = dates_[from].end;
      add(leaves, fmt::format(R"(D r "waited for" t{} {})", content_.slices[from].track, i), 13);
      add(std::max(leaves, dates_[to].begin), fmt::format(R"(D r "waited for" t{} {})", content_.slices[to].track, i),
          14);
    }
  }

  void add_memory() {
    for (const TraceMemory& memory : content_.memory) {
      const double at = ticks(memory.at);
      add(at, fmt::format("M p{} {}", memory.place.value(), sum_of(memory).value()), 11);
      for (std::size_t i = 0; i < memory.held.size(); ++i) {
        if (!memory.held[i]) continue;
        add(at, fmt::format("M{} p{} {}", i, memory.place.value(), memory.held[i]->value()), 11);
      }
    }
  }

  /// In the order of time, which the format asks for.
  void write_events() {
    std::ranges::stable_sort(events_, {}, &Event::at);
    for (const Event& event : events_) {
      write("{} {:.12f} {}", event.number, event.at / kPicoseconds, event.rest);
    }
    const double end = events_.empty() ? 0.0 : events_.back().at / kPicoseconds;
    for (const LinkId link : links()) write("7 {:.12f} L l{}", end, link.value());
    for (std::size_t i = 0; i < content_.tracks.size(); ++i) write("7 {:.12f} T t{}", end, i);
    for (const PlaceId place : content_.places) write("7 {:.12f} P p{}", end, place.value());
    write("7 {:.12f} R r", end);
  }

  const TracedRun& run_;
  const Timeline& timeline_;
  TraceContent content_;
  std::vector<Ticks> dates_;  ///< by slice
  std::vector<Event> events_;
  std::string out_;
};

}  // namespace

std::string paje_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window) {
  return PajeTrace(run, window).text(about);
}

}  // namespace stagecraft
