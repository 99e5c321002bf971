// `simulate --events`: files against closed forms, in both engines.
#include "tests/experiments/commands/command.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Two equal layers, forward 1 ms and backward 2 ms, joined by a tensor of 1 MB; on one device of a pair, or on both,
/// with a link of 1 GB/s between them: 1 ms each way.
class Desk {
 public:
  Desk() {
    write("toy.yaml",
          "schema: stagecraft/model/1\nmodel: toy\ndevice: A\nmicrobatch_size: 4\nsource: made up\nlayers:\n"
          "  - {name: x, forward: 1 ms, backward: 2 ms, parameters: 1 MB, output: 1 MB}\n"
          "  - {name: y, forward: 1 ms, backward: 2 ms, parameters: 1 MB, output: 1 MB}\n");
    write("pair.yaml",
          "schema: stagecraft/platform/1\nplatform: pair\ndevice_kinds: {A: {memory: 1 GB}}\n"
          "devices: [{name: a, kind: A}, {name: b, kind: A}]\n"
          "links: [{between: [a, b], bandwidth: 1 GBps, latency: 0}]\n");
    write("one.yaml",
          "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: 3\nschedule: {name: gpipe}\nstages:\n"
          "  - {layers: [x, y], devices: [a]}\n");
    write("two.yaml",
          "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: 1\nschedule: {name: gpipe}\nstages:\n"
          "  - {layers: [x], devices: [a]}\n  - {layers: [y], devices: [b]}\n");
  }

  [[nodiscard]] Json answer(const std::string& plan, const std::string& events, const std::string& engine,
                            const std::vector<std::string>& more = {}) const {
    std::vector<std::string> options = more;
    options.emplace_back("--json");
    return Json::parse(ran(plan, events, engine, options).out);
  }
  [[nodiscard]] Ran ran(const std::string& plan, const std::string& events, const std::string& engine,
                        const std::vector<std::string>& more) const {
    std::vector<std::string> command = {"simulate",        path(plan), "--model", path("toy.yaml"), "--platform",
                                        path("pair.yaml"), "--engine", engine,    "--no-timings"};
    if (!events.empty()) {
      write("events.yaml", "schema: stagecraft/events/1\nevents: [" + events + "]\n");
      command.insert(command.end(), {"--events", path("events.yaml")});
    }
    command.insert(command.end(), more.begin(), more.end());
    Ran result = run(command);
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    return result;
  }
  /// The iteration time in ms, on which both engines must agree.
  [[nodiscard]] double time(const std::string& plan, const std::string& events) const {
    const Json replayed = answer(plan, events, "replay");
    const double found = replayed["iteration_time_s"].get<double>() * 1e3;
    CHECK(answer(plan, events, "evaluate")["iteration_time_s"].get<double>() * 1e3 ==
          doctest::Approx(found).epsilon(1e-9));
    CHECK(replayed["evaluated"]["iteration_time_s"].get<double>() * 1e3 == doctest::Approx(found).epsilon(1e-9));
    return found;
  }

  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }

 private:
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
  test::TemporaryFolder folder_;
};

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-9); }

// Three forwards of 2 ms, then three backwards of 4 ms.
TEST_CASE("simulate --events: a slowdown, at a time and at a microbatch") {
  const Desk desk;
  CHECK(desk.time("one.yaml", "") == near(18));
  CHECK(desk.time("one.yaml", "{at: 0 s, device: a, slowdown: 2}") == near(36));
  CHECK(desk.time("one.yaml", "{at: 3 ms, device: a, slowdown: 2}") == near(3 + 2 * 15));
  CHECK(desk.time("one.yaml", "{at_microbatch: 2, device: a, slowdown: 3}") == near(4 + 3 * 14));
  CHECK(desk.time("one.yaml", "{at: 0 s, device: a, slowdown: 2}, {at: 10 ms, device: a, slowdown: 1}") ==
        near(10 + 13));
  CHECK(desk.time("one.yaml", "{at: 0 s, device: b, slowdown: 2}") == near(18));
  CHECK(desk.time("one.yaml", "{at: 20 ms, device: a, slowdown: 2}") == near(18));
}

// Forward, 1 MB, forward, backward, 1 MB back, backward: 1 + 1 + 1 + 2 + 1 + 2 ms.
TEST_CASE("simulate --events: a link's bandwidth, in both directions or in one") {
  const Desk desk;
  CHECK(desk.time("two.yaml", "") == near(8));
  CHECK(desk.time("two.yaml", "{at: 0 s, link: [a, b], bandwidth: 500 MBps}") == near(10));
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, link: [b, a], bandwidth: 500 MBps}") == near(9.5));
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, link: a->b, bandwidth: 500 MBps}") == near(8.5));
  CHECK(desk.time("two.yaml", "{at: 3 ms, link: a->b, bandwidth: 500 MBps}") == near(8));
  CHECK(desk.time("two.yaml", "{at: 0 s, link: b->a, bandwidth: 4 GBps}") == near(7.25));
}

// The 1 MB crosses from 1 to 2 ms, and back from 5 to 6 ms.
TEST_CASE("simulate --events: a link fails for a while, in both directions or in one") {
  const Desk desk;
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, link: a->b, fails_for: 3 ms}") == near(8 + 3));
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, link: b->a, fails_for: 3 ms}") == near(8));
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, link: [a, b], fails_for: 4 ms}") == near(8 + 4));
  CHECK(desk.time("two.yaml", "{at: 4 ms, link: '*', fails_for: 3 ms}") == near(8 + 2));  // back at 7, needed at 5
  CHECK(desk.time("two.yaml", "{at_microbatch: 0, link: a->b, fails_for: 5 ms}") == near(8 + 4));
  CHECK(desk.time("one.yaml", "{at: 0 s, link: '*', fails_for: 1 h}") == near(18));
  const std::string event = "{at: 1.5 ms, link: [a, b], fails_for: 4 ms}";
  const Json happened = desk.answer("two.yaml", event, "replay")["events"]["happened"];
  CHECK(happened[1] ==
        Json::parse(R"({"event": 0, "at_s": 0.0015, "name": "b->a", "kind": "fails_for", "value": 0.004})"));
  CHECK(desk.ran("two.yaml", event, "evaluate", {}).out.find("a->b, b->a fail for 4 ms\n") != std::string::npos);
}

// The forward that had run for 1 ms is done again after the repair.
TEST_CASE("simulate --events: a device fails for a while") {
  const Desk desk;
  CHECK(desk.time("one.yaml", "{at: 3 ms, device: a, fails_for: 5 ms}") == near(18 + 1 + 5));
  CHECK(desk.time("two.yaml", "{at: 1.5 ms, device: b, fails_for: 1 ms}") == near(8 + 0.5 + 1));
}

TEST_CASE("simulate --events: noise is the same for the same seed, and 0 is none") {
  const Desk desk;
  const std::string noise = "{at: 0 s, jitter: {sigma: 0.2, seed: 3}}";
  CHECK(desk.time("two.yaml", noise) != near(8));
  const Json plain = desk.answer("one.yaml", "", "replay");
  const Json first = desk.answer("one.yaml", noise, "replay");
  CHECK(first == desk.answer("one.yaml", noise, "replay"));
  CHECK(first["iteration_time_s"] != plain["iteration_time_s"]);
  CHECK(desk.answer("one.yaml", "{at: 0 s, jitter: {sigma: 0.2, seed: 4}}", "replay")["iteration_time_s"] !=
        first["iteration_time_s"]);
  Json without = desk.answer("one.yaml", "{at: 0 s, jitter: {sigma: 0, seed: 3}}", "replay");
  CHECK(without["events"].is_object());
  without["events"] = nullptr;
  without.erase("windows");  // only a run with events has them
  CHECK(without == plain);
}

TEST_CASE("simulate --events: a noise seed makes other noise of the same file, and the answer tells both") {
  const Desk desk;
  const std::string noise = "{at: 0 s, jitter: {sigma: 0.2, seed: 3}}";
  const Json own = desk.answer("one.yaml", noise, "evaluate");
  const Json first = desk.answer("one.yaml", noise, "evaluate", {"--noise-seed", "1"});
  const Json second = desk.answer("one.yaml", noise, "evaluate", {"--noise-seed", "2"});
  CHECK(own["events"]["noise_seed"].is_null());
  CHECK(first["events"]["noise_seed"] == 1);
  CHECK(own["events"]["sha256"].get<std::string>().size() == 64);
  CHECK(own["events"]["sha256"] == first["events"]["sha256"]);
  CHECK(first == desk.answer("one.yaml", noise, "evaluate", {"--noise-seed", "1"}));
  CHECK(own["iteration_time_s"] != first["iteration_time_s"]);
  CHECK(first["iteration_time_s"] != second["iteration_time_s"]);
  CHECK(desk.answer("one.yaml", "", "evaluate")["events"].is_null());
}

TEST_CASE("simulate --events: events after the end of the run are told, in both engines") {
  const Desk desk;
  // The run of 8 ms has one microbatch. An event of two links, both directions, is one event of the file.
  const std::string events =
      "{at: 1 ms, link: [a, b], bandwidth: 1 GBps}, {at: 10 s, device: a, slowdown: 2}, "
      "{at_microbatch: 0, device: a, slowdown: 1}, {at_microbatch: 1, device: a, slowdown: 2}";
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json told = desk.answer("two.yaml", events, engine)["events"];
    CHECK(told["count"] == 4);
    CHECK(told["never_happen"] == Json({1, 3}));
  }
  const Ran text = desk.ran("two.yaml", events, "evaluate", {});
  CHECK(text.out.find("events: 4, of which 2 never happen (at 10 s, at microbatch 1): the run ends after 1 microbatch, "
                      "at 8 ms\n") != std::string::npos);
}

TEST_CASE("simulate --events: those that happen are told, with their time, device or link, and new value") {
  const Desk desk;
  const std::string events =
      "{at_microbatch: 0, device: b, slowdown: 2}, {at: 3 ms, link: [a, b], bandwidth: 500 MBps}, "
      "{at: 2 ms, device: a, memory: 500 MB}, {at: 4 ms, device: '*', fails_for: 1 ms}, "
      "{at: 5 ms, jitter: {sigma: 0, seed: 1}}";
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json happened = desk.answer("two.yaml", events, engine)["events"]["happened"];
    const Json expected = Json::parse(R"([
      {"event": 0, "at_s": 0.0, "name": "b", "kind": "slowdown", "value": 2.0},
      {"event": 2, "at_s": 0.002, "name": "a", "kind": "memory", "value": 500000000},
      {"event": 1, "at_s": 0.003, "name": "a->b", "kind": "bandwidth", "value": 500000000.0},
      {"event": 1, "at_s": 0.003, "name": "b->a", "kind": "bandwidth", "value": 500000000.0},
      {"event": 3, "at_s": 0.004, "name": "a", "kind": "fails_for", "value": 0.001},
      {"event": 3, "at_s": 0.004, "name": "b", "kind": "fails_for", "value": 0.001},
      {"event": 4, "at_s": 0.005, "name": null, "kind": "jitter", "value": 0.0}])");
    CHECK(happened == expected);
  }
  const std::string text = desk.ran("two.yaml", events, "evaluate", {}).out;
  CHECK(text.find("b takes 2 times the time\n") != std::string::npos);
  CHECK(text.find("a->b, b->a have 500 MBps\n") != std::string::npos);
}

// The plan runs on a.
TEST_CASE("simulate --events: one of devices that the plan does not use is told") {
  const Desk desk;
  const std::string events =
      "{at: 1 ms, device: b, slowdown: 2}, {at: 1 ms, device: '*', slowdown: 2}, {at_microbatch: 1, device: b, "
      "fails_for: 1 ms}, {at: 2 ms, link: [a, b], bandwidth: 1 GBps}, {at: 10 s, device: b, slowdown: 2}";
  for (const char* engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json told = desk.answer("one.yaml", events, engine)["events"];
    CHECK(told["of_unused_devices"] == Json({0, 2}));
    CHECK(told["never_happen"] == Json({4}));
  }
  const std::string text = desk.ran("one.yaml", events, "evaluate", {}).out;
  CHECK(text.find("events[0] (at 1 ms) names b, which the plan does not use\n"
                  "events[2] (at microbatch 1) names b, which the plan does not use\n") != std::string::npos);
  CHECK(desk.answer("two.yaml", events, "evaluate")["events"]["of_unused_devices"] == Json::array());
}

// Microbatches 0, 1 and 2 take 2, 1 and 3 times their time: forwards of 2 ms, backwards of 4 ms.
TEST_CASE("simulate --events: every microbatch has work of its own") {
  const Desk desk;
  desk.write("work.csv", "work\n2\n1\n3\n");
  desk.write("long.csv", "# of another run\nlength, work\n7, 2\n8, 1\n9, 3\n9, 5\n");
  desk.write("short.csv", "work\n2\n1\n");
  CHECK(desk.time("one.yaml", "{at: 0 s, work: work.csv}") == near(6 * 6));
  CHECK(desk.time("one.yaml", "{at: 0 s, work: long.csv}") == near(6 * 6));
  CHECK(desk.time("one.yaml", "{at: 0 s, work: short.csv}") == near(6 * (2 + 1 + 2)));
  CHECK(desk.time("one.yaml", "{at_microbatch: 2, work: work.csv}") == near(2 * 2 + 3 * 2 + 4 * 6));
  CHECK(desk.time("one.yaml", "{at: 3 ms, work: work.csv}") == near(2 + 2 + 3 * 2 + 4 * 6));
  CHECK(desk.time("one.yaml", "{at: 0 s, work: work.csv}, {at: 6 ms, device: a, slowdown: 2}") == near(6 + 2 * 30));
  CHECK(desk.time("two.yaml", "{at: 0 s, work: work.csv}") == near(2 * 6 + 2));
  const Json first = desk.answer("one.yaml", "{at: 0 s, work: work.csv}", "evaluate")["events"];
  const Json second = desk.answer("one.yaml", "{at: 0 s, work: long.csv}", "evaluate")["events"];
  desk.write("long.csv", "work\n1\n");
  const Json third = desk.answer("one.yaml", "{at: 0 s, work: long.csv}", "evaluate")["events"];
  CHECK(first["sha256"] != second["sha256"]);
  CHECK(second["sha256"] != third["sha256"]);  // the same events file, but another list
}

TEST_CASE("simulate --events: a slowdown below 1 gets a note") {
  const Desk desk;
  const auto said = [&](const std::string& events) { return desk.ran("one.yaml", events, "evaluate", {}).err; };
  CHECK(said("{at: 1 ms, device: a, slowdown: 0.3}").find("faster than in the model") != std::string::npos);
  CHECK(said("{at: 1 ms, device: a, slowdown: 1.3}").empty());
}

TEST_CASE("simulate --events: a noise seed without noise is told") {
  const Desk desk;
  const std::string told = "--noise-seed changes nothing";
  const auto said = [&](const std::string& events) {
    return desk.ran("one.yaml", events, "evaluate", {"--noise-seed", "1"}).err;
  };
  CHECK(said("{at: 1 ms, device: a, slowdown: 2}").find(told) != std::string::npos);
  CHECK(said("{at: 1 ms, jitter: {sigma: 0.1, seed: 1}}").find(told) == std::string::npos);
}

}  // namespace
}  // namespace stagecraft
