#include "experiments/view/chrome_trace.hpp"

#include "experiments/view/text_parts.hpp"
#include "sim/io/json.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {
namespace {

/// In microseconds, to a millionth: doubles of fewer digits.
double written(Seconds time) { return std::round(time.value() * 1e12) / 1e6; }

std::string quoted(const std::string& text) { return to_json(Detail(text), -1); }

/// Writes the events of one run.
class ChromeTrace {
 public:
  ChromeTrace(const TracedRun& run, const std::optional<TimeRange>& window, const TextSink& sink)
      : run_(run), content_(trace_content(run, window)), out_(sink) {
    for (std::uint32_t i = 0; i < run.platform.place_count(); ++i) {
      place_names_.push_back(quoted(run.platform.place_name(PlaceId(i))));
    }
  }

  void write(const Detail::Record& about) {
    append(R"({{"displayTimeUnit":"ms","otherData":{},"traceEvents":[)", to_json(Detail(about), -1));
    write_names();
    for (const TraceSlice& slice : content_.slices) write_slice(entry_of(slice), slice.track);
    if (!content_.tracks.empty()) write_marks();
    write_arrows();
    for (const PlaceMemory& place : content_.memory) {
      show_memory(run_.memory(), place, content_.window, [&](const TraceMemory& memory) { write_memory(memory); });
    }
    if (!content_.links.empty()) write_links();
    append("\n]}}\n");
    out_.finish();
  }

 private:
  template <class... Values>
  void append(fmt::format_string<const Values&...> format, const Values&... values) {
    fmt::format_to(std::back_inserter(out_.part()), format, values...);
  }
  /// The beginning of an event: its phase, and where it belongs. Numbers start at 1: for viewers 0 is the idle process.
  void begin(char phase, std::uint32_t process) {
    append(
        "{}\n"
        R"({{"ph":"{}","pid":{})",
        is_first_ ? "" : ",", phase, process + 1);
    is_first_ = false;
  }
  void begin(char phase, std::uint32_t process, std::uint32_t thread) {
    begin(phase, process);
    append(R"(,"tid":{})", thread + 1);
  }
  void begin_on(char phase, Seconds at, std::uint32_t track) {
    begin(phase, content_.tracks[track].place.value(), track);
    write_date(at);
  }
  void begin_counter(Seconds at, std::uint32_t process) {
    begin('C', process);
    write_date(at);
  }
  void write_date(Seconds at) { append(R"(,"ts":{})", written(at)); }

  void write_name(const char* what, std::uint32_t process, std::uint32_t thread, const std::string& name) {
    begin('M', process, thread);
    append(R"(,"name":"{}_name","args":{{"name":{}}}}})", what, quoted(name));
    begin('M', process, thread);
    const bool is_process = std::string_view(what) == "process";
    append(R"(,"name":"{0}_sort_index","args":{{"sort_index":{1}}}}})", what, is_process ? process : thread);
  }

  /// Processes are numbered as places, and threads as tracks. The links are one more process.
  void write_names() {
    for (const PlaceId place : content_.places) {
      write_name("process", place.value(), 0, run_.platform.place_name(place));
    }
    for (std::uint32_t i = 0; i < content_.tracks.size(); ++i) {
      write_name("thread", content_.tracks[i].place.value(), i, name_of(content_.tracks[i]));
    }
  }

  void write_slice(const TimelineEntry& entry, std::uint32_t track) {
    begin_on('X', entry.start, track);
    append(R"(,"dur":{},"name":"{}","args":{{"microbatch":{})", written(entry.end - entry.start), slice_name(entry),
           entry.microbatch);
    if (!entry.stage.is_none()) append(R"(,"stage":{})", entry.stage.value());
    if (is_transfer(entry.kind)) {
      const auto [from, to] = ends_of(run_.platform, entry.from, entry.to, entry.leg);
      append(R"(,"from":{},"to":{},"bytes":{})", place_names_[from.value()], place_names_[to.value()],
             entry.bytes.value());
    }
    if (entry.aborted) append(R"(,"aborted":true)");
    append("}}}}");
  }

  void write_marks() {
    for (const RunMark& mark : content_.marks) {
      begin_on('i', mark.at, 0);
      append(R"(,"s":"g","name":{}}})", quoted(mark.name));
    }
  }

  /// An arrow leaves its slice before the end, because a slice does not hold its end, and points to the other's start.
  void write_arrows() {
    constexpr double kLeaves = 0.75;
    for (std::size_t i = 0; i < content_.arrows.size(); ++i) {
      const TraceSlice& source = content_.slices[content_.arrows[i].from];
      const TraceSlice& target = content_.slices[content_.arrows[i].to];
      const TimelineEntry& earlier = entry_of(source);
      begin_on('s', earlier.start + (earlier.end - earlier.start) * kLeaves, source.track);
      append(R"(,"id":{},"cat":"wait","name":"wait"}})", i);
      begin_on('f', entry_of(target).start, target.track);
      append(R"(,"id":{},"bp":"e","cat":"wait","name":"wait"}})", i);
    }
  }

  void write_memory(const TraceMemory& memory) {
    begin_counter(memory.at, memory.place.value());
    append(R"(,"name":"memory","args":{{)");
    const char* separator = "";
    for (std::size_t i = 0; i < memory.held.size(); ++i) {
      if (!memory.held[i]) continue;
      append(R"({}"{}":{})", separator, to_string(static_cast<MemoryCategory>(i)), memory.held[i]->value());
      separator = ",";
    }
    append("}}}}");
  }

  void write_links() {
    const auto process = static_cast<std::uint32_t>(run_.platform.place_count());
    write_name("process", process, 0, "transfers on links");
    for (const LinkTransfers& link : content_.links) {
      const std::string name = quoted(run_.platform.links[link.link].name);
      show_loads(run_.timeline(), link, [&](const TraceLoad& load) {
        begin_counter(load.at, process);
        append(R"(,"name":{},"args":{{"count":{}}}}})", name, load.transfers);
      });
    }
  }

  [[nodiscard]] const TimelineEntry& entry_of(const TraceSlice& slice) const { return run_.timeline()[slice.entry]; }

  const TracedRun& run_;
  TraceContent content_;
  std::vector<std::string> place_names_;  ///< quoted
  TextParts out_;
  bool is_first_ = true;
};

}  // namespace

void chrome_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                  const TextSink& sink) {
  ChromeTrace(run, window, sink).write(about);
}

}  // namespace stagecraft
