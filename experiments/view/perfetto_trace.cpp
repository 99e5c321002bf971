#include "experiments/view/perfetto_trace.hpp"

#include "experiments/view/protobuf_writer.hpp"
#include "experiments/view/text_parts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kNanoseconds = 1e9;  ///< in a second
constexpr std::uint32_t kPacketOfTrace = 1;
constexpr std::uint64_t kSequence = 1;  ///< all packets are of one sequence

// The numbers of the fields, by message.
struct PacketField {
  static constexpr std::uint32_t kTimestamp = 8, kSequenceId = 10, kEvent = 11, kInterned = 12, kFlags = 13,
                                 kDescriptor = 60;
};
enum SequenceFlag : std::uint8_t { kClearsState = 1, kNeedsState = 2 };
struct EventField {
  static constexpr std::uint32_t kCategory = 3, kAnnotation = 4, kType = 9, kTrack = 11, kName = 23, kCounter = 30,
                                 kFlow = 47, kLastFlow = 48;
};
enum EventType : std::uint8_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterValue = 4 };
struct DescriptorField {
  static constexpr std::uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8;
};
struct ProcessField {
  static constexpr std::uint32_t kPid = 1, kSortIndex = 3, kName = 6;
};
struct ThreadField {
  static constexpr std::uint32_t kPid = 1, kTid = 2, kSortIndex = 3, kName = 5;
};
struct CounterField {
  static constexpr std::uint32_t kUnit = 3;
};
enum CounterUnit : std::uint8_t { kCount = 2, kSizeBytes = 3 };
struct AnnotationField {
  static constexpr std::uint32_t kName = 1, kBool = 2, kInt = 4, kString = 6;
};
/// The index that a name belongs to, by its field of `InternedData`.
enum NameIndex : std::uint8_t { kCategories = 1, kAnnotationNames = 3 };

/// Names that are written once; later they are numbers.
class InternedNames {
 public:
  std::uint64_t number(NameIndex index, const std::string& name) {
    const auto [known, is_new] = numbers_[index].try_emplace(name, numbers_[index].size() + 1);
    if (is_new) {
      ProtobufWriter entry;
      entry.number(1, known->second);
      entry.text(2, name);
      fresh_.message(index, entry);
    }
    return known->second;
  }
  /// The names that are new since the last call.
  ProtobufWriter take_fresh() { return std::exchange(fresh_, {}); }

 private:
  std::map<NameIndex, std::map<std::string, std::uint64_t>> numbers_;
  ProtobufWriter fresh_;
};

/// Writes the packets of one run.
class PerfettoTrace {
 public:
  PerfettoTrace(const TracedRun& run, const std::optional<TimeRange>& window, const TextSink& sink)
      : run_(run), content_(trace_content(run, window)), has_arrow_(content_.slices.size()), out_(sink) {}

  void write(const Detail::Record& about) {
    write_first();
    write_processes();
    write_marks(about);
    write_slices();
    for (const PlaceMemory& place : content_.memory) {
      show_memory(run_.memory(), place, content_.window, [&](const TraceMemory& memory) { write_memory(memory); });
    }
    if (!content_.links.empty()) write_loads();
    out_.finish();
  }

 private:
  void write_packet(const ProtobufWriter& packet) {
    ProtobufWriter framed;
    framed.message(kPacketOfTrace, packet);
    out_.part() += framed.bytes();
  }

  void write_first() {
    ProtobufWriter packet;
    packet.number(PacketField::kSequenceId, kSequence);
    packet.number(PacketField::kFlags, kClearsState);
    write_packet(packet);
  }

  /// Returns the number of the track.
  std::uint64_t describe(std::uint64_t parent, const std::string& name, std::uint32_t field,
                         const ProtobufWriter& kind) {
    ProtobufWriter descriptor;
    descriptor.number(DescriptorField::kUuid, ++last_uuid_);
    if (parent != 0) descriptor.number(DescriptorField::kParent, parent);
    descriptor.text(DescriptorField::kName, name);
    if (field != 0) descriptor.message(field, kind);
    ProtobufWriter packet;
    packet.number(PacketField::kSequenceId, kSequence);
    packet.message(PacketField::kDescriptor, descriptor);
    write_packet(packet);
    return last_uuid_;
  }

  /// Processes are numbered from 1 as places, then come the links and the tracks. A thread with the number of its
  /// process would be its main thread.
  std::uint64_t describe_process(std::uint32_t place, const std::string& name) {
    ProtobufWriter process;
    process.number(ProcessField::kPid, place + 1);
    process.number(ProcessField::kSortIndex, place);
    process.text(ProcessField::kName, name);
    return describe(0, name, DescriptorField::kProcess, process);
  }

  void write_processes() {
    for (const PlaceId place : content_.places) {
      processes_[place] = describe_process(place.value(), run_.platform.place_name(place));
    }
    const std::uint64_t first_thread = run_.platform.place_count() + 2;
    for (std::size_t i = 0; i < content_.tracks.size(); ++i) {
      const Track& track = content_.tracks[i];
      ProtobufWriter thread;
      thread.number(ThreadField::kPid, track.place.value() + 1);
      thread.number(ThreadField::kTid, first_thread + i);
      thread.number(ThreadField::kSortIndex, i);
      thread.text(ThreadField::kName, name_of(track));
      threads_.push_back(describe(processes_.at(track.place), name_of(track), DescriptorField::kThread, thread));
    }
  }

  std::uint64_t describe_counter(std::uint64_t parent, const std::string& name, CounterUnit unit) {
    ProtobufWriter counter;
    counter.number(CounterField::kUnit, unit);
    return describe(parent, name, DescriptorField::kCounter, counter);
  }

  void write_event(double nanoseconds, const ProtobufWriter& event) {
    ProtobufWriter packet;
    packet.number(PacketField::kTimestamp, static_cast<std::uint64_t>(nanoseconds));
    packet.number(PacketField::kSequenceId, kSequence);
    packet.message(PacketField::kEvent, event);
    const ProtobufWriter fresh = names_.take_fresh();
    if (!fresh.bytes().empty()) packet.message(PacketField::kInterned, fresh);
    packet.number(PacketField::kFlags, kNeedsState);
    write_packet(packet);
  }

  static ProtobufWriter event_of(EventType type, std::uint64_t track) {
    ProtobufWriter event;
    event.number(EventField::kType, type);
    event.number(EventField::kTrack, track);
    return event;
  }
  void name(ProtobufWriter& event, const std::string& category, const std::string& text) {
    event.number(EventField::kCategory, names_.number(kCategories, category));
    event.text(EventField::kName, text);
  }

  void annotate(ProtobufWriter& event, const std::string& key,
                const std::variant<bool, std::int64_t, std::string>& value) {
    ProtobufWriter annotation;
    annotation.number(AnnotationField::kName, names_.number(kAnnotationNames, key));
    if (const auto* text = std::get_if<std::string>(&value)) {
      annotation.text(AnnotationField::kString, *text);
    } else if (const auto* count = std::get_if<std::int64_t>(&value)) {
      annotation.signed_number(AnnotationField::kInt, *count);
    } else {
      annotation.number(AnnotationField::kBool, std::get<bool>(value) ? 1 : 0);
    }
    event.message(EventField::kAnnotation, annotation);
  }

  /// Marks are on a track of their own, which begins with what the run is.
  void write_marks(const Detail::Record& about) {
    const std::uint64_t track = describe(0, "run", 0, {});
    ProtobufWriter first = event_of(kInstant, track);
    name(first, "mark", "run");
    for (const auto& [key, value] : about) {
      if (const auto* text = std::get_if<std::string>(&value.value)) annotate(first, key, *text);
    }
    write_event(0.0, first);
    for (const RunMark& mark : content_.marks) {
      ProtobufWriter event = event_of(kInstant, track);
      name(event, "mark", mark.name);
      write_event(rounded(mark.at), event);
    }
  }

  void write_slices() {
    std::ranges::sort(content_.arrows, {}, &TraceArrow::from);
    for (const TraceArrow& arrow : content_.arrows) has_arrow_[arrow.to] = true;
    for (const SliceEvent& each : slice_events(content_, run_.timeline(), kNanoseconds)) {
      ProtobufWriter event =
          event_of(each.is_end ? kSliceEnd : kSliceBegin, threads_[content_.slices[each.slice].track]);
      if (!each.is_end) describe_slice(event, each.slice);
      write_event(each.at, event);
    }
  }

  void describe_slice(ProtobufWriter& event, std::uint32_t slice) {
    const TimelineEntry& entry = run_.timeline()[content_.slices[slice].entry];
    name(event, to_string(entry.kind), slice_name(entry));
    annotate(event, "microbatch", std::int64_t{entry.microbatch});
    if (!entry.stage.is_none()) annotate(event, "stage", std::int64_t{entry.stage.value()});
    if (is_transfer(entry.kind)) {
      const auto [from, to] = ends_of(run_.platform, entry.from, entry.to, entry.leg);
      annotate(event, "from", run_.platform.place_name(from));
      annotate(event, "to", run_.platform.place_name(to));
      annotate(event, "bytes", entry.bytes.value());
    }
    if (entry.aborted) annotate(event, "aborted", true);
    for (const TraceArrow& arrow : std::ranges::equal_range(content_.arrows, slice, {}, &TraceArrow::from)) {
      event.fixed(EventField::kFlow, flow_to(arrow.to));
    }
    if (has_arrow_[slice]) event.fixed(EventField::kLastFlow, flow_to(slice));
  }

  /// An operation waits for one other last, so at most one arrow points to a slice, and has its number.
  static std::uint64_t flow_to(std::uint32_t slice) { return std::uint64_t{slice} + 1; }

  void write_value(std::uint64_t counter, Seconds at, std::int64_t value) {
    ProtobufWriter event = event_of(kCounterValue, counter);
    event.signed_number(EventField::kCounter, value);
    write_event(rounded(at), event);
  }

  /// A counter for all that a place holds, and one for each category, which is written where it changes.
  void write_memory(const TraceMemory& memory) {
    write_held(memory, "memory", sum_of(memory));
    for (std::size_t i = 0; i < memory.held.size(); ++i) {
      const std::string category = to_string(static_cast<MemoryCategory>(i));
      if (memory.held[i]) write_held(memory, "memory: " + category, *memory.held[i]);
    }
  }
  void write_held(const TraceMemory& memory, const std::string& name, Bytes bytes) {
    Held& held = held_[{memory.place, name}];
    if (held.counter == 0) {
      held.counter = describe_counter(processes_.at(memory.place), name, kSizeBytes);
    } else if (held.bytes == bytes) {
      return;
    }
    held.bytes = bytes;
    write_value(held.counter, memory.at, bytes.value());
  }

  void write_loads() {
    const auto links = static_cast<std::uint32_t>(run_.platform.place_count());
    const std::uint64_t process = describe_process(links, "transfers on links");
    for (const LinkTransfers& link : content_.links) {
      const std::uint64_t counter = describe_counter(process, run_.platform.links[link.link].name, kCount);
      show_loads(run_.timeline(), link, [&](const TraceLoad& load) { write_value(counter, load.at, load.transfers); });
    }
  }

  static double rounded(Seconds at) { return std::round(at.value() * kNanoseconds); }

  struct Held {
    std::uint64_t counter = 0;
    Bytes bytes;
  };

  const TracedRun& run_;
  TraceContent content_;
  std::vector<bool> has_arrow_;  ///< by slice: that points to it
  std::map<PlaceId, std::uint64_t> processes_;
  std::vector<std::uint64_t> threads_;  ///< by track
  std::map<std::pair<PlaceId, std::string>, Held> held_;
  InternedNames names_;
  std::uint64_t last_uuid_ = 0;
  TextParts out_;
};

}  // namespace

void perfetto_trace(const TracedRun& run, const Detail::Record& about, const std::optional<TimeRange>& window,
                    const TextSink& sink) {
  PerfettoTrace(run, window, sink).write(about);
}

}  // namespace stagecraft
