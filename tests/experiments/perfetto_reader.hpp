#pragma once

#include "tests/experiments/protobuf_reader.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::test {

constexpr double kNanosecond = 1e-9;  ///< seconds

struct PerfettoTrack {
  std::string name;
  std::uint64_t parent = 0;
  std::optional<std::uint64_t> pid;   ///< of a process
  std::optional<std::uint64_t> tid;   ///< of a thread
  std::optional<std::uint64_t> unit;  ///< of a counter
};

struct PerfettoEvent {
  std::uint64_t at = 0;  ///< nanoseconds
  std::uint64_t type = 0;
  std::uint64_t track = 0;
  std::string name, category;
  std::map<std::string, std::string> texts;
  std::map<std::string, std::int64_t> numbers;
  std::int64_t value = 0;
  std::vector<std::uint64_t> flows, last_flows;
  [[nodiscard]] double seconds() const { return static_cast<double>(at) * kNanosecond; }
};

/// The packets of a trace, with their names looked up.
class PerfettoReader {
 public:
  explicit PerfettoReader(std::string_view bytes) {
    bool is_first = true;
    for (const ProtobufField& packet : read_message(bytes)) {
      REQUIRE(packet.number == 1);
      take_packet(packet.bytes, is_first);
      is_first = false;
    }
  }

  std::map<std::uint64_t, PerfettoTrack> tracks;
  std::vector<PerfettoEvent> events;

 private:
  void take_packet(std::string_view bytes, bool is_first) {
    const auto fields = read_message(bytes);
    std::uint64_t at = 0;
    std::uint64_t flags = 0;
    std::uint64_t sequence = 0;
    for (const auto& field : fields) {
      if (field.number == 8) at = field.value;
      if (field.number == 10) sequence = field.value;
      if (field.number == 12) take_names(field.bytes);  // names of a packet count for its own event
      if (field.number == 13) flags = field.value;
      if (field.number == 60) take_descriptor(field.bytes);
    }
    CHECK(sequence == 1);
    CHECK((flags == 1) == is_first);
    for (const auto& field : fields) {
      if (field.number != 11) continue;
      CHECK(flags == 2);  // it needs the names that came before
      take_event(field.bytes, at);
    }
  }

  void take_names(std::string_view bytes) {
    for (const auto& entry : read_message(bytes)) {
      const auto fields = read_message(entry.bytes);
      REQUIRE(fields.size() == 2);
      CHECK(names_[entry.number].emplace(fields[0].value, fields[1].bytes).second);
    }
  }

  void take_descriptor(std::string_view bytes) {
    PerfettoTrack track;
    std::uint64_t uuid = 0;
    for (const auto& field : read_message(bytes)) {
      if (field.number == 1) uuid = field.value;
      if (field.number == 2) track.name = field.bytes;
      if (field.number == 3) track.pid = first_number(field.bytes, 1);
      if (field.number == 4) track.tid = first_number(field.bytes, 2);
      if (field.number == 5) track.parent = field.value;
      if (field.number == 8) track.unit = first_number(field.bytes, 3);
    }
    if (track.parent != 0) CHECK(tracks.contains(track.parent));
    CHECK(uuid != 0);
    CHECK(tracks.emplace(uuid, track).second);
  }

  static std::uint64_t first_number(std::string_view bytes, std::uint32_t number) {
    for (const auto& field : read_message(bytes)) {
      if (field.number == number) return field.value;
    }
    FAIL("missing field ", number);
    return 0;
  }

  void take_event(std::string_view bytes, std::uint64_t at) {
    PerfettoEvent event;
    event.at = at;
    for (const auto& field : read_message(bytes)) {
      if (field.number == 3) event.category = names_.at(1).at(field.value);
      if (field.number == 4) take_annotation(field.bytes, event);
      if (field.number == 9) event.type = field.value;
      if (field.number == 11) event.track = field.value;
      if (field.number == 23) event.name = field.bytes;
      if (field.number == 30) event.value = static_cast<std::int64_t>(field.value);
      if (field.number == 47) event.flows.push_back(field.value);
      if (field.number == 48) event.last_flows.push_back(field.value);
    }
    REQUIRE(tracks.contains(event.track));
    events.push_back(event);
  }

  void take_annotation(std::string_view bytes, PerfettoEvent& event) const {
    const auto fields = read_message(bytes);
    REQUIRE(fields.size() == 2);
    const std::string& key = names_.at(3).at(fields[0].value);
    if (fields[1].number == 6) {
      event.texts[key] = fields[1].bytes;
    } else {
      event.numbers[key] = static_cast<std::int64_t>(fields[1].value);
    }
  }

  std::map<std::uint32_t, std::map<std::uint64_t, std::string>> names_;
};

/// The types of events.
enum PerfettoType : std::uint8_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterValue = 4 };

/// A slice, from its first event to its last one.
struct PerfettoSlice {
  PerfettoEvent begin, end;
};

/// The slices. On a track each ends before the next one begins, in the order of the file, so that none is nested.
inline std::vector<PerfettoSlice> slices_of(const PerfettoReader& reader) {
  std::vector<PerfettoSlice> slices;
  std::map<std::uint64_t, std::optional<PerfettoEvent>> open;
  std::uint64_t last = 0;
  for (const PerfettoEvent& event : reader.events) {
    if (event.type != kSliceBegin && event.type != kSliceEnd) continue;
    CHECK(event.at >= last);
    last = event.at;
    REQUIRE(open[event.track].has_value() == (event.type == kSliceEnd));
    if (event.type == kSliceBegin) {
      open[event.track] = event;
    } else {
      slices.push_back({*open[event.track], event});
      open[event.track].reset();
    }
  }
  for (const auto& [track, event] : open) CHECK(!event);
  return slices;
}

/// Every flow leaves one slice and ends at one that begins later in the file. Returns their number.
inline std::size_t check_flows(const PerfettoReader& reader) {
  std::map<std::uint64_t, std::uint64_t> leaving;
  std::size_t count = 0;
  for (const PerfettoEvent& event : reader.events) {
    for (const std::uint64_t flow : event.last_flows) CHECK(leaving.erase(flow) == 1);
    for (const std::uint64_t flow : event.flows) CHECK(leaving.emplace(flow, event.at).second);
    count += event.last_flows.size();
  }
  CHECK(leaving.empty());
  return count;
}

}  // namespace stagecraft::test
