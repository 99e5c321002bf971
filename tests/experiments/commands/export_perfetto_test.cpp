// Traces for Perfetto, decoded by a reader of their own and compared with `--timeline --json` of the same run.
#include "tests/experiments/commands/replanned_pipeline.hpp"
#include "tests/experiments/commands/told_run.hpp"
#include "tests/experiments/perfetto_reader.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using test::PerfettoEvent;
using test::PerfettoReader;
using test::PerfettoTrack;

test::ToldOperation operation_of(const PerfettoReader& reader, const test::PerfettoSlice& slice) {
  const PerfettoEvent& begin = slice.begin;
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
          .begin = begin.seconds(),
          .end = slice.end.seconds()};
}

std::vector<test::ToldOperation> operations_of(const PerfettoReader& reader) {
  std::vector<test::ToldOperation> operations;
  for (const test::PerfettoSlice& slice : slices_of(reader)) operations.push_back(operation_of(reader, slice));
  return operations;
}

/// The trace that `simulate --trace` writes, with these arguments.
std::string traced(const test::PlanOnDisk& plan, std::vector<std::string> more = {}) {
  const Folder folder;
  const std::string file = folder.file("run.pftrace");
  more.insert(more.end(), {"--trace", file});
  const Ran ran = run(plan.of("simulate", more));
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  CHECK(ran.out.ends_with("\nwritten to " + file + "\n"));
  return read(file);
}

/// The marks of the run, with their times in seconds.
std::vector<std::pair<double, std::string>> marks_of(const std::string& trace) {
  std::vector<std::pair<double, std::string>> marks;
  const PerfettoReader reader(trace);
  for (const PerfettoEvent& event : reader.events) {
    if (event.type == test::kInstant) marks.emplace_back(event.seconds(), event.name);
  }
  REQUIRE(!marks.empty());
  CHECK(marks.front() == std::pair<double, std::string>(0.0, "run"));
  marks.erase(marks.begin());
  return marks;
}

/// The counters of memory have the peaks of the report and are the sums of their categories; those of links end with no
/// transfer.
void check_counters(const PerfettoReader& reader, const Json& told) {
  std::map<std::string, std::int64_t> peaks;
  std::map<std::uint64_t, std::int64_t> now;  // of each counter
  std::map<std::string, std::int64_t> totals, parts;
  for (const PerfettoEvent& event : reader.events) {
    if (event.type != test::kCounterValue) continue;
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

/// Checks the trace of a plan on either engine.
void check_plan(const std::string& model, const std::string& platform, const std::vector<std::string>& choices) {
  CAPTURE(platform);
  const Folder folder;
  test::PlanOnDisk plan = test::planned(folder, model, platform, choices);
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    plan.engine = engine;
    const std::string bytes = traced(plan);
    CHECK(bytes == plan.exported("perfetto"));
    const PerfettoReader reader(bytes);
    const std::string told = plan.told();
    test::check_same(operations_of(reader), test::operations_of(told), 2.0 * test::kNanosecond);
    check_counters(reader, Json::parse(told));
    CHECK(check_flows(reader) > 0);
  }
}

}  // namespace

TEST_CASE("--trace: every operation of the run, its flows and its counters, as export --to perfetto writes it") {
  check_plan("bert-large", "dgx-1-v100", {"--planner", "uniform", "--set", "stages=4", "--microbatches", "8"});
  check_plan("vgg16-blocks", "p3.8xlarge-x4", {"--planner", "spp", "--microbatches", "8"});
  check_plan("bert-48", "rtx2080ti-4x4", {"--planner", "vpipe", "--microbatches", "32", "--memory", "swap"});
}

TEST_CASE("--trace: an operation that a failure ended is there, and again") {
  const Toy toy;
  write(toy.file("events.yaml"),
        "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, fails_for: 10 ms}\n");
  test::PlanOnDisk plan = test::on_disk(toy);
  plan.arguments.insert(plan.arguments.end(), {"--events", toy.file("events.yaml")});
  const std::string bytes = traced(plan);
  const auto operations = operations_of(PerfettoReader(bytes));
  test::check_same(operations, test::operations_of(plan.told()), 2.0 * test::kNanosecond);
  CHECK(std::ranges::count_if(operations, &test::ToldOperation::aborted) == 1);
  CHECK(marks_of(bytes).front().second == "b fails for 10 ms");
}

TEST_CASE("--trace: the ends of iterations and events are marked") {
  const Toy toy;
  write(toy.file("events.yaml"), "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, slowdown: 2}\n");
  const auto marks = marks_of(traced(test::on_disk(toy), {"--events", toy.file("events.yaml"), "--iterations", "2"}));
  REQUIRE(marks.size() == 3);
  CHECK(marks[0].first == doctest::Approx(0.015));
  CHECK(marks[0].second == "b takes 2 times the time");
  CHECK(marks[1].second == "end of iteration 0");
  CHECK(marks[2].second == "end of iteration 1");
  CHECK(marks[2].first > marks[1].first);
}

TEST_CASE("--trace: another plan is marked where one begins, and not where the plan goes on with another size") {
  const testing::Pipeline pipeline;
  const auto dates_of = [&](const std::string& events, std::vector<std::string> more) {
    const std::string file = pipeline.path("run.pftrace");
    more.insert(more.end(), {"--trace", file});
    REQUIRE(pipeline.ran("plan.yaml", events, more).code == 0);
    std::vector<double> dates;
    for (const auto& [at, name] : marks_of(read(file))) {
      if (name == "another plan") dates.push_back(at);
    }
    return dates;
  };
  const std::string slow = "{at: 0 s, device: b, slowdown: 1.5}";
  const std::vector<std::string> replan{"--replan", "vpipe,granularity=layers,window=64"};
  const Json told = pipeline.answer<Json>("plan.yaml", slow, replan);
  REQUIRE(told["replans"].size() == 1);
  const std::vector<double> dates = dates_of(slow, replan);
  REQUIRE(dates.size() == 1);
  CHECK(dates[0] == doctest::Approx(told["replans"][0]["at_s"].get<double>()).epsilon(1e-8));
  CHECK(dates_of(slow, {"--run-length", "1000"}).empty());
  CHECK(dates_of("{at_microbatch: 64, microbatch_size: 1}", {"--run-length", "1000"}).empty());
}

TEST_CASE("--trace: of an asynchronous run the microbatches are marked between which its period is measured") {
  const Folder folder;
  const test::PlanOnDisk plan = test::planned(folder, "vgg16-blocks", "p3.8xlarge-x4", {"--planner", "pipedream"});
  const auto told = test::operations_of(plan.told());
  const auto marks = marks_of(traced(plan));
  REQUIRE(marks.size() >= 2);
  for (const auto& [at, name] : marks) {
    REQUIRE(name.starts_with("end of microbatch "));
    // Its last backward ends then.
    double end = 0.0;
    for (const test::ToldOperation& op : told) {
      if (op.op == "backward" && std::to_string(op.microbatch) == name.substr(18)) end = std::max(end, op.end);
    }
    CHECK(at == doctest::Approx(end));
  }
}

TEST_CASE("--trace: a window") {
  const Toy toy;
  const test::PlanOnDisk plan = test::on_disk(toy);
  const auto slices = [](const std::string& trace) { return slices_of(PerfettoReader(trace)).size(); };
  CHECK(slices(traced(plan)) == 2 * 2 * 8 + 2 * 8);  // computations and transfers
  const std::string part = traced(plan, {"--timeline-window", "15 ms..16 ms"});
  CHECK(slices(part) == 2);
  CHECK(part == plan.exported("perfetto", {"--timeline-window", "15 ms..16 ms"}));
}

TEST_CASE("--trace: names are as they are, and no other file is replaced") {
  const Toy toy;
  const std::string name = R"(</script>\"<img src=x>)";
  toy.rename_device(name);
  const std::string bytes = traced(test::on_disk(toy));
  const PerfettoReader reader(bytes);
  CHECK(std::ranges::any_of(reader.tracks,
                            [&](const auto& track) { return track.second.pid && track.second.name == name; }));
  CHECK(toy.on("simulate", {"--trace", toy.plan}).code == 2);
  CHECK(read(toy.plan).starts_with("schema: "));
}

}  // namespace stagecraft
