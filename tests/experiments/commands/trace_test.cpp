// `simulate --trace`, read by a JSON library and compared with `--timeline --json` of the same run.
#include "tests/experiments/commands/replanned_pipeline.hpp"
#include "tests/experiments/commands/told_run.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

constexpr double kSameTime = 1e-9;  ///< seconds

struct Slice {
  double begin = 0.0;
  double end = 0.0;
};

/// A trace, and what `--json --timeline` says of the same run.
struct Traced {
  Json trace;
  Json told;
  std::map<std::int64_t, std::string> processes;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Slice>> tracks;

  Traced(const Folder& folder, std::vector<std::string> arguments) {
    const std::string file = folder.file("trace.json");
    arguments.insert(arguments.begin(), "simulate");
    arguments.insert(arguments.end(), {"--json", "--timeline", "--trace", file});
    const Ran ran = run(arguments);
    REQUIRE_MESSAGE(!ran.out.empty(), ran.err);
    told = Json::parse(ran.out);
    trace = Json::parse(read(file));
    for (const Json& event : trace["traceEvents"]) {
      if (event["name"] == "process_name") processes[event["pid"]] = event["args"]["name"];
      if (event["ph"] == "X") tracks[{event["pid"], event["tid"]}].push_back(slice_of(event));
    }
  }
  static Slice slice_of(const Json& event) {
    const double begin = event["ts"].get<double>() / 1e6;
    return {begin, begin + event["dur"].get<double>() / 1e6};
  }
};

/// An operation without its times.
using Work = std::tuple<std::string, Json, std::int64_t, std::string, std::string, std::int64_t, bool>;

void check_slices(const Traced& traced) {
  std::multimap<Work, Slice> left;
  const std::set<std::string> marks{"delay", "collective-begin", "collective-end", "barrier", "setup", "post"};
  for (const Json& op : traced.told["timeline"]) {
    if (marks.contains(op["op"])) continue;
    left.emplace(Work(op["op"], op["stage"], op["microbatch"], op["from"], op["to"], op["bytes"], op["aborted"]),
                 Slice{op["start_s"], op["end_s"]});
  }
  CHECK(!left.empty());
  for (const Json& event : traced.trace["traceEvents"]) {
    if (event["ph"] != "X") continue;
    const Json& told = event["args"];
    const std::string place = traced.processes.at(event["pid"]);
    const std::string name = event["name"];
    const Work work(name.substr(0, name.find(' ')), told.value("stage", Json()), told["microbatch"],
                    told.value("from", place), told.value("to", place), told.value("bytes", std::int64_t{0}),
                    told.value("aborted", false));
    const Slice slice = Traced::slice_of(event);
    const auto [begin, end] = left.equal_range(work);
    const auto found = std::find_if(begin, end, [&](const auto& entry) {
      return std::abs(entry.second.begin - slice.begin) < kSameTime &&
             std::abs(entry.second.end - slice.end) < kSameTime;
    });
    REQUIRE(found != end);
    left.erase(found);
  }
  CHECK(left.empty());
}

/// No two slices of a track overlap, so that viewers do not nest them.
void check_tracks(Traced& traced) {
  for (auto& [which, slices] : traced.tracks) {
    std::ranges::sort(slices, {}, &Slice::begin);
    for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i].begin > slices[i - 1].end - kSameTime);
  }
}

/// Each arrow leaves a slice and points to the start of a later one. Returns their number.
std::size_t check_arrows(const Traced& traced) {
  std::map<std::int64_t, Json> leaving;
  std::size_t arrows = 0;
  for (const Json& event : traced.trace["traceEvents"]) {
    if (event["ph"] != "s" && event["ph"] != "f") continue;
    const double at = event["ts"].get<double>() / 1e6;
    const std::vector<Slice>& track = traced.tracks.at({event["pid"], event["tid"]});
    if (event["ph"] == "s") {
      CHECK(std::ranges::any_of(track, [&](const Slice& slice) { return slice.begin <= at && at <= slice.end; }));
      CHECK(leaving.emplace(event["id"], event).second);
    } else {
      CHECK(std::ranges::any_of(track, [&](const Slice& slice) { return std::abs(slice.begin - at) < kSameTime; }));
      REQUIRE(leaving.contains(event["id"]));
      CHECK(leaving.at(event["id"])["ts"] <= event["ts"]);
      leaving.erase(event["id"]);
      ++arrows;
    }
  }
  CHECK(leaving.empty());
  return arrows;
}

/// The counters of memory have the peaks of the report, and those of the links end with no transfer.
void check_counters(const Traced& traced) {
  std::map<std::string, std::int64_t> peaks;
  std::map<std::string, std::int64_t> transfers;
  for (const Json& event : traced.trace["traceEvents"]) {
    if (event["ph"] != "C") continue;
    std::int64_t sum = 0;
    for (const auto& [name, value] : event["args"].items()) {
      CHECK(value >= 0);
      sum += value.get<std::int64_t>();
    }
    if (event["name"] == "memory") {
      std::int64_t& peak = peaks[traced.processes.at(event["pid"])];
      peak = std::max(peak, sum);
    } else {
      transfers[event["name"]] = sum;
    }
  }
  CHECK(!peaks.empty());
  CHECK(!transfers.empty());
  for (const Json& device : traced.told["devices"]) {
    CHECK(peaks[device["name"]] == device["peak_memory_bytes"].get<std::int64_t>());
  }
  for (const auto& [link, left] : transfers) CHECK(left == 0);
}

/// Checks the trace of a plan on either engine.
void check_plan(const std::string& model, const std::string& platform, std::vector<std::string> choices) {
  CAPTURE(platform);
  const Folder folder;
  const std::string plan = folder.file("plan.yaml");
  choices.insert(choices.begin(), {"plan", "--model", model, "--platform", platform, "-o", plan});
  REQUIRE(run(choices).code == 0);
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    Traced traced(folder, {plan, "--model", model, "--platform", platform, "--engine", engine});
    check_slices(traced);
    check_tracks(traced);
    CHECK(check_arrows(traced) > 0);
    check_counters(traced);
  }
}

}  // namespace

TEST_CASE("--trace: every operation of the run, its tracks, arrows and counters") {
  check_plan("bert-large", "dgx-1-v100", {"--planner", "uniform", "--set", "stages=4", "--microbatches", "8"});
  check_plan("vgg16-blocks", "p3.8xlarge-x4", {"--planner", "spp", "--microbatches", "8"});
  check_plan("bert-48", "rtx2080ti-4x4", {"--planner", "vpipe", "--microbatches", "32", "--memory", "swap"});
}

TEST_CASE("--trace: an operation that a failure ended is there, and again") {
  const Toy toy;
  write(toy.file("events.yaml"),
        "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, fails_for: 10 ms}\n");
  Traced traced(toy, {toy.plan, "--model", toy.model, "--platform", toy.platform, "--events", toy.file("events.yaml")});
  check_slices(traced);
  check_tracks(traced);
  check_counters(traced);
  const Json& events = traced.trace["traceEvents"];
  CHECK(std::ranges::count_if(events, [](const Json& event) {
          return event["ph"] == "X" && event["args"].value("aborted", false);
        }) == 1);
}

/// The marks of the run, with their times in microseconds.
std::vector<std::pair<double, std::string>> marks_of(const std::string& trace) {
  std::vector<std::pair<double, std::string>> marks;
  const Json parsed = Json::parse(trace);
  for (const Json& event : parsed["traceEvents"]) {
    if (event["ph"] == "i") marks.emplace_back(event["ts"].get<double>(), event["name"].get<std::string>());
  }
  return marks;
}

TEST_CASE("--trace: the ends of iterations and events are marked") {
  const Toy toy;
  write(toy.file("events.yaml"), "schema: stagecraft/events/1\nevents:\n  - {at: 15 ms, device: b, slowdown: 2}\n");
  const auto marks =
      marks_of(toy.on("simulate", {"--trace", "-", "--events", toy.file("events.yaml"), "--iterations", "2"}).out);
  REQUIRE(marks.size() == 3);
  CHECK(marks[0] == std::pair<double, std::string>(15'000.0, "b takes 2 times the time"));
  CHECK(marks[1].second == "end of iteration 0");
  CHECK(marks[2].second == "end of iteration 1");
  CHECK(marks[2].first > marks[1].first);
}

TEST_CASE("--trace: another plan is marked where one begins, and not where the plan goes on with another size") {
  const testing::Pipeline pipeline;
  const auto named = [&](const std::string& events, const std::vector<std::string>& more) {
    std::vector<std::string> all{"--trace", "-"};
    all.insert(all.end(), more.begin(), more.end());
    std::vector<double> dates;
    for (const auto& [at, name] : marks_of(pipeline.ran("plan.yaml", events, all).out)) {
      if (name == "another plan") dates.push_back(at);
    }
    return dates;
  };
  const std::string slow = "{at: 0 s, device: b, slowdown: 1.5}";
  const std::vector<std::string> replan{"--replan", "vpipe,granularity=layers,window=64"};
  const Json told = pipeline.answer<Json>("plan.yaml", slow, replan);
  REQUIRE(told["replans"].size() == 1);
  const std::vector<double> dates = named(slow, replan);
  REQUIRE(dates.size() == 1);
  CHECK(dates[0] == doctest::Approx(told["replans"][0]["at_s"].get<double>() * 1e6).epsilon(1e-9));
  CHECK(named(slow, {"--run-length", "1000"}).empty());
  CHECK(named("{at_microbatch: 64, microbatch_size: 1}", {"--run-length", "1000"}).empty());
}

TEST_CASE("--trace: of an asynchronous run the microbatches are marked between which its period is measured") {
  const Folder folder;
  const test::PlanOnDisk plan = test::planned(folder, "vgg16-blocks", "p3.8xlarge-x4", {"--planner", "pipedream"});
  const Json told = Json::parse(plan.told());
  const auto marks = marks_of(run(plan.of("simulate", {"--trace", "-"})).out);
  REQUIRE(marks.size() >= 2);
  for (const auto& [at, name] : marks) {
    REQUIRE(name.starts_with("end of microbatch "));
    // Its last backward ends then.
    double end = 0.0;
    for (const Json& op : told["timeline"]) {
      if (op["op"] == "backward" && std::to_string(op["microbatch"].get<int>()) == name.substr(18)) {
        end = std::max(end, op["end_s"].get<double>());
      }
    }
    CHECK(at == doctest::Approx(end * 1e6));
  }
}

TEST_CASE("--trace: a window, and standard output") {
  const Toy toy;
  const std::string whole = toy.on("simulate", {"--trace", "-"}).out;
  const auto slices = [](const std::string& text) {
    const Json trace = Json::parse(text);
    return std::ranges::count_if(trace["traceEvents"], [](const Json& event) { return event["ph"] == "X"; });
  };
  CHECK(slices(whole) == 2 * 2 * 8 + 2 * 8);  // computations and transfers
  const std::string part = toy.on("simulate", {"--trace", "-", "--timeline-window", "15 ms..16 ms"}).out;
  CHECK(slices(part) == 2);
  for (const char* other : {"--json", "--timeline", "--transfers"}) {  // it would be lost
    CHECK(toy.on("simulate", {"--trace", "-", other}).code == 2);
  }
}

TEST_CASE("--trace: names are quoted, and no other file is replaced") {
  const Toy toy;
  const std::string name = R"(</script>\"<img src=x>)";
  toy.rename_device(name);
  const Json trace = Json::parse(toy.on("simulate", {"--trace", "-"}).out);
  CHECK(std::ranges::any_of(trace["traceEvents"], [&](const Json& event) {
    return event["name"] == "process_name" && event["args"]["name"] == name;
  }));
  CHECK(toy.on("simulate", {"--trace", toy.plan}).code == 2);  // no trace is replaced by one
  CHECK(read(toy.plan).starts_with("schema: "));
}

}  // namespace stagecraft
