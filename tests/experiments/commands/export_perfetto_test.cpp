// `export --to perfetto`, decoded by a reader of its own and compared with `--timeline --json` of the same run.
#include "tests/experiments/commands/protobuf_reader.hpp"
#include "tests/experiments/commands/told_run.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using test::read_message;

constexpr double kNanosecond = 1e-9;

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
};

/// The packets of a trace, with their names looked up.
class PerfettoReader {
 public:
  explicit PerfettoReader(std::string_view bytes) {
    bool is_first = true;
    for (const test::ProtobufField& packet : read_message(bytes)) {
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
    for (const auto& field : fields) {
      if (field.number == 8) at = field.value;
      if (field.number == 10) CHECK(field.value == 1);
      if (field.number == 12) take_names(field.bytes);  // names of a packet count for its own event
      if (field.number == 13) flags = field.value;
      if (field.number == 60) take_descriptor(field.bytes);
    }
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
      if (field.number == 10) event.name = names_.at(2).at(field.value);
      if (field.number == 11) event.track = field.value;
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

test::ToldOperation operation_of(const PerfettoReader& reader, const PerfettoEvent& begin, const PerfettoEvent& end) {
  const PerfettoTrack& thread = reader.tracks.at(begin.track);
  CHECK(thread.tid);
  const PerfettoTrack& process = reader.tracks.at(thread.parent);
  CHECK(process.pid);
  const auto text = [&](const std::string& key) {
    return begin.texts.contains(key) ? begin.texts.at(key) : process.name;
  };
  const auto number = [&](const std::string& key, std::int64_t otherwise) {
    return begin.numbers.contains(key) ? begin.numbers.at(key) : otherwise;
  };
  CHECK(begin.name == begin.category + " " + std::to_string(begin.numbers.at("microbatch")));
  return {.op = begin.category,
          .stage = number("stage", -1),
          .microbatch = number("microbatch", -1),
          .from = text("from"),
          .to = text("to"),
          .bytes = number("bytes", 0),
          .aborted = number("aborted", 0) == 1,
          .begin = static_cast<double>(begin.at) * kNanosecond,
          .end = static_cast<double>(end.at) * kNanosecond};
}

/// The slices. On a track each ends before the next one begins, in the order of the file, so that none is nested.
std::vector<test::ToldOperation> slices_of(const PerfettoReader& reader) {
  std::vector<test::ToldOperation> slices;
  std::map<std::uint64_t, std::optional<PerfettoEvent>> open;
  std::uint64_t last = 0;
  for (const PerfettoEvent& event : reader.events) {
    if (event.type != 1 && event.type != 2) continue;
    CHECK(event.at >= last);
    last = event.at;
    REQUIRE(open[event.track].has_value() == (event.type == 2));
    if (event.type == 1) {
      open[event.track] = event;
    } else {
      slices.push_back(operation_of(reader, *open[event.track], event));
      open[event.track].reset();
    }
  }
  for (const auto& [track, event] : open) CHECK(!event);
  return slices;
}

/// Every flow leaves one slice and ends at one that begins later in the file. Returns their number.
std::size_t check_flows(const PerfettoReader& reader) {
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

/// The counters of memory have the peaks of the report and are the sums of their categories; those of links end with no
/// transfer.
void check_counters(const PerfettoReader& reader, const Json& told) {
  std::map<std::string, std::int64_t> peaks;
  std::map<std::uint64_t, std::int64_t> now;  // of each counter
  std::map<std::string, std::int64_t> totals, parts;
  for (const PerfettoEvent& event : reader.events) {
    if (event.type != 4) continue;
    const PerfettoTrack& track = reader.tracks.at(event.track);
    const std::string& process = reader.tracks.at(track.parent).name;
    if (track.name == "memory") {
      CHECK(track.unit == 3);                    // bytes
      CHECK(totals[process] == parts[process]);  // after all changes of the instant before
      totals[process] = event.value;
      peaks[process] = std::max(peaks[process], event.value);
    } else if (process == "transfers on links") {
      CHECK(track.unit == 2);  // a number
    } else {
      parts[process] += event.value - now[event.track];
    }
    now[event.track] = event.value;
  }
  CHECK(totals == parts);
  for (const Json& device : told["devices"]) CHECK(peaks[device["name"]] == device["peak_memory_bytes"]);
  std::size_t links = 0;
  for (const auto& [uuid, value] : now) {
    if (reader.tracks.at(reader.tracks.at(uuid).parent).name != "transfers on links") continue;
    CHECK(value == 0);
    ++links;
  }
  CHECK(links > 0);
}

void check_perfetto(const test::PlanOnDisk& plan) {
  const std::string bytes = plan.exported("perfetto");
  const PerfettoReader reader(bytes);
  const std::string answer = plan.told();
  const Json told = Json::parse(answer);
  test::check_same(slices_of(reader), test::operations_of(answer), 2.0 * kNanosecond);
  check_counters(reader, told);
  const Json chrome = Json::parse(plan.exported("chrome"));
  CHECK(check_flows(reader) == static_cast<std::size_t>(std::ranges::count_if(
                                   chrome["traceEvents"], [](const Json& event) { return event["ph"] == "s"; })));
}

}  // namespace

TEST_CASE("export --to perfetto: every operation of the run, its flows and its counters") {
  const Folder folder;
  check_perfetto(test::planned(folder, "bert-large", "dgx-1-v100",
                               {"--planner", "uniform", "--set", "stages=4", "--microbatches", "8"}));
  check_perfetto(test::planned(folder, "vgg16-blocks", "p3.8xlarge-x4", {"--planner", "spp", "--microbatches", "8"}));
  check_perfetto(test::planned(folder, "bert-48", "rtx2080ti-4x4",
                               {"--planner", "vpipe", "--microbatches", "32", "--memory", "swap"}));
}

TEST_CASE("export --to perfetto: a failure, and the marks of the run") {
  const Toy toy;
  write(toy.file("events.yaml"),
        "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, fails_for: 10 ms}\n");
  test::PlanOnDisk plan = test::on_disk(toy);
  plan.arguments.insert(plan.arguments.end(), {"--events", toy.file("events.yaml")});
  const std::string bytes = plan.exported("perfetto");
  const PerfettoReader reader(bytes);
  const auto slices = slices_of(reader);
  test::check_same(slices, test::operations_of(plan.told()), 2.0 * kNanosecond);
  CHECK(std::ranges::count_if(slices, &test::ToldOperation::aborted) == 1);
  std::vector<std::string> marks;
  for (const PerfettoEvent& event : reader.events) {
    if (event.type == 3) marks.push_back(event.name);
  }
  CHECK(marks == std::vector<std::string>{"run", "b fails for 10 ms", "end of iteration 0"});
}

}  // namespace stagecraft
