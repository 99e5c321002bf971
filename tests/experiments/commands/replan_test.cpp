// `simulate --replan`: a plan that changes while training runs, in both engines. The straggler is V4 of the vPipe
// specification.
#include "tests/experiments/commands/replanned_pipeline.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using testing::changes_of;
using testing::Pipeline;

std::vector<std::size_t> sizes_of(const Json& question) {
  std::vector<std::size_t> sizes;
  for (const Json& stage : question["stages"]) sizes.push_back(stage["layers"].size());
  return sizes;
}

}  // namespace

// b takes 18 ms for its 12 ms. vPipe moves one unit to a, which then takes 15 ms; b takes 13.5 ms.
TEST_CASE("simulate --replan vpipe: a straggler loses one layer, and the period falls from 18 to 15 ms") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const Json told =
        pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
                              {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=64", "--engine", engine});
    const Json changes = changes_of(told);
    REQUIRE(changes.size() == 1);
    const Json& change = changes[0];
    CHECK(change["asked_by"] == "window");
    // b is 18 / 13.5 - 1 above the mean. That is the first window; the planner is asked after the second one.
    const std::string first = told["questions"][0]["reason"];
    CHECK(first.find("the slowest stage is 33.3 % above the mean, for 1 of 2 windows") != std::string::npos);
    CHECK(change["microbatch"].get<int>() >= 128);
    CHECK(change["microbatch"].get<int>() <= 130);
    CHECK(change["changes_at"].get<int>() <= 134);
    CHECK(change["keeping_s"].get<double>() == doctest::Approx(0.018));
    CHECK(change["changing_s"].get<double>() == doctest::Approx(0.015));
    CHECK(sizes_of(change) == std::vector<std::size_t>{5, 3, 4, 4});
    // The verdict: the same run without --replan, and what it gains. That run has as many microbatches.
    const std::string length = std::to_string(told["windows"].back()["end"].get<int>());
    const Json unchanged = pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
                                                 {"--engine", engine, "--run-length", length});
    CHECK(told["verdict"]["kept_s"].get<double>() ==
          doctest::Approx(unchanged["windows"].back()["at_s"].get<double>()).epsilon(1e-3));
    CHECK(told["verdict"]["replanned_s"].get<double>() ==
          doctest::Approx(told["windows"].back()["at_s"].get<double>()).epsilon(1e-3));
    CHECK(told["verdict"]["changes_s"] == told["replans"][0]["stall_s"]);
    CHECK(told["verdict"]["replanned_s"] < told["verdict"]["kept_s"]);
    CHECK_FALSE(unchanged.contains("verdict"));
    CHECK(change["stages"][0]["devices"] == Json::array({"a"}));
    for (int stage = 0; stage < 4; ++stage) CHECK(told["devices"][stage]["stages"] == Json::array({stage}));
    CHECK(told["replans"].size() == 1);
    CHECK(told["replans"][0]["microbatch"] == change["changes_at"]);
    // One layer with its optimizer state: three times 4 MB.
    REQUIRE(told["migrations"].size() == 1);
    CHECK(told["migrations"][0]["from"] == "b");
    CHECK(told["migrations"][0]["to"] == "a");
    CHECK(told["migrations"][0]["bytes"] == 12'000'000);
    const Json kept =
        pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}", {"--run-length", "1000"});
    CHECK(told["throughput_samples_per_s"].get<double>() > 1.15 * kept["throughput_samples_per_s"].get<double>());
  }
}

// The stages of the straggler take 12, 18, 12 and 12 ms, then 15, 13.5, 12 and 12 ms. When a is done with the plan
// before, 12 MB come to it at 10 GB/s, and then the first microbatch goes through all stages: 1.2 + 52.5 ms. In a full
// pipeline it would come 15 ms after the one before.
TEST_CASE(
    "simulate --replan: windows show the throughput before and after, and the stall is draining, copying, filling") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    const Json told =
        pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
                              {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=64", "--engine", engine});
    const Json& replan = told["replans"][0];
    CHECK(replan["stall_s"].get<double>() == doctest::Approx(0.0012 + 0.0525 - 0.015).epsilon(1e-9));
    CHECK(replan["expected_stall_s"].get<double>() == doctest::Approx(replan["stall_s"].get<double>()).epsilon(1e-9));
    CHECK(replan["moved_bytes"] == 12'000'000);
    CHECK(replan["keeping_s"].get<double>() == doctest::Approx(0.018));
    CHECK(told["migrations"][0]["layers"] == Json::array({"l4"}));
    const Json& windows = told["windows"];
    const Json& last = windows[windows.size() - 2];  // the very last one drains
    CHECK(last["throughput_samples_per_s"].get<double>() == doctest::Approx(2 / 0.015).epsilon(1e-9));
    std::int64_t next = 0;
    bool has_change = false;
    for (const Json& window : windows) {
      CHECK(window["begin"] == next);
      next = window["end"].get<std::int64_t>();
      CHECK(next <= window["begin"].get<std::int64_t>() + 64);
      has_change |= window["begin"] == replan["microbatch"];
    }
    CHECK(next == 1000);
    CHECK(has_change);
  }
}

TEST_CASE("simulate --replan: what a plan takes does not depend on how long training goes on") {
  const Pipeline pipeline;
  const auto first_change = [&](const std::string& length) {
    return changes_of(pipeline.answer<Json>(
        "plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
        {"--replan", "vpipe,granularity=layers,window=64", "--engine", "evaluate", "--run-length", length}))[0];
  };
  const Json soon_over = first_change("400");
  const Json goes_on = first_change("4000");
  CHECK(soon_over["keeping_s"] == goes_on["keeping_s"]);
  CHECK(soon_over["changing_s"] == goes_on["changing_s"]);
}

TEST_CASE("simulate --replan: both engines ask and answer alike where nothing contends") {
  const Pipeline pipeline;
  const std::string events =
      "{at_microbatch: 100, device: c, slowdown: 2}, {at_microbatch: 500, device: c, slowdown: 1}";
  for (const std::string planner :
       {"vpipe,migrate=stop-copy,granularity=layers,window=50", "dawnpiper,window=50", "uniform,window=50"}) {
    CAPTURE(planner);
    const Json replayed = pipeline.answer<Json>("plan.yaml", events, {"--replan", planner});
    const Json evaluated = pipeline.answer<Json>("plan.yaml", events, {"--replan", planner, "--engine", "evaluate"});
    CHECK(replayed["questions"].size() == evaluated["questions"].size());
    CHECK(changes_of(replayed).size() >= 2);  // there, and back again
    CHECK(changes_of(replayed) == changes_of(evaluated));
    CHECK(replayed["migrations"] == evaluated["migrations"]);
  }
}

TEST_CASE("simulate --replan: a run whose plan stays is the run without a re-planner, to the byte") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    Json asked = pipeline.answer<Json>("plan.yaml", "",
                                       {"--run-length", "1000", "--engine", engine, "--replan", "vpipe,window=100"});
    Json kept = pipeline.answer<Json>("plan.yaml", "", {"--run-length", "1000", "--engine", engine});
    CHECK(asked["questions"].size() == 9);
    asked.erase("questions");
    asked.erase("windows");
    CHECK(asked == kept);
  }
  Json asked = pipeline.answer<Json>("flushed.yaml", "", {"--iterations", "10", "--replan", "vpipe,window=64"});
  const Json kept = pipeline.answer<Json>("flushed.yaml", "", {"--iterations", "10"});
  CHECK(asked["questions"].size() == 4);
  asked.erase("questions");
  asked.erase("windows");
  CHECK(asked == kept);
}

// Another program takes so much of a's memory that 12 MB are lacking.
TEST_CASE("simulate --replan: a device that loses memory runs out of it, or the plan follows") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    CAPTURE(engine);
    const auto peak = pipeline.answer<Json>("plan.yaml", "", {"--engine", engine})["devices"][0]["peak_memory_bytes"];
    const std::int64_t memory = peak.get<std::int64_t>() - 12'000'000;
    const std::string event = "{at_microbatch: 300, device: a, memory: " + std::to_string(memory) + " B}";
    const Ran kept = pipeline.ran("plan.yaml", event, {"--engine", engine, "--json"});
    CHECK(kept.code == 3);
    const Json lacks = Json::parse(kept.out);
    REQUIRE(lacks["overflows"].size() == 1);
    CHECK(lacks["overflows"][0]["name"] == "a");
    CHECK(lacks["overflows"][0]["at_s"] >= lacks["events"]["happened"][0]["at_s"]);
    CHECK(lacks["overflows"][0]["excess_bytes"] == 12'000'000);
    CHECK(lacks["devices"][0]["peak_memory_bytes"] == peak);
    CHECK(lacks["devices"][0]["memory_bytes"] == memory);

    const Ran followed = pipeline.ran(
        "plan.yaml", event, {"--engine", engine, "--json", "--replan", "vpipe,migrate=stop-copy,granularity=layers"});
    const Json told = Json::parse(followed.out);
    const Json changes = changes_of(told);
    REQUIRE(changes.size() == 1);
    CHECK(changes[0]["asked_by"] == "memory");
    CHECK(changes[0]["microbatch"].get<int>() >= 300);
    CHECK(changes[0]["microbatch"].get<int>() <= 310);
    REQUIRE(told["overflows"].size() == 1);  // until the other plan runs
    CHECK(told["overflows"][0]["until_s"].get<double>() < told["windows"][2]["at_s"].get<double>());
    CHECK(lacks["overflows"][0]["until_s"] > told["windows"].back()["at_s"].get<double>() / 2);
  }
}

// a gets 12 MB from b at 10 GB/s before its first forward, and so the iteration is 1.2 ms longer than others.
TEST_CASE("simulate --replan: a flushed schedule changes its plan between two iterations") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    const Json told = pipeline.answer<Json>(
        "flushed.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
        {"--iterations", "20", "--engine", engine, "--replan", "vpipe,migrate=stop-copy,granularity=layers,window=64"});
    REQUIRE(told["replans"].size() == 1);
    const Json& replan = told["replans"][0];
    const auto first = replan["microbatch"].get<std::size_t>();
    CHECK(first % 32 == 0);
    const Json& iterations = told["iterations_s"];
    REQUIRE(iterations.size() == 20);
    CHECK(iterations.back().get<double>() < iterations.front().get<double>());
    CHECK(iterations[first / 32].get<double>() == doctest::Approx(iterations.back().get<double>() + 0.0012));
    CHECK(replan["stall_s"].get<double>() == doctest::Approx(0.0012).epsilon(1e-9));
    CHECK(replan["expected_stall_s"].get<double>() == doctest::Approx(0.0012).epsilon(1e-9));
  }
}

TEST_CASE("simulate --replan: a restart between two iterations costs its time on top of the copies") {
  const Pipeline pipeline;
  const Json told = pipeline.answer<Json>(
      "flushed.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
      {"--iterations", "20", "--replan", "vpipe,migrate=restart,restart=50ms,granularity=layers,window=64"});
  REQUIRE(told["replans"].size() == 1);
  CHECK(told["replans"][0]["stall_s"].get<double>() == doctest::Approx(0.0512).epsilon(1e-9));
  CHECK(told["replans"][0]["expected_stall_s"].get<double>() == doctest::Approx(0.0512).epsilon(1e-9));
}

TEST_CASE("simulate --replan: a link that changes is a question at once") {
  const Pipeline pipeline;
  const Json told = pipeline.answer<Json>("plan.yaml", "{at_microbatch: 300, link: [b, c], bandwidth: 1 MBps}",
                                          {"--replan", "vpipe,window=256"});
  REQUIRE(told["questions"].size() >= 2);
  const Json& second = told["questions"][1];
  CHECK(second["asked_by"] == "link");
  CHECK(second["microbatch"].get<int>() >= 301);
  CHECK(second["microbatch"].get<int>() <= 310);
  CHECK(second["reason"].get<std::string>().find("MBps") != std::string::npos);
}

TEST_CASE("simulate --replan: a plan that saves no more than `gain` is not taken") {
  const Pipeline pipeline;
  const std::string events = "{at: 0 s, device: b, slowdown: 1.5}";
  // Moving one layer saves 1 - 15/18 = 16.7 %.
  const Json refused = pipeline.answer<Json>(
      "plan.yaml", events, {"--replan", "vpipe,migrate=stop-copy,granularity=layers,patience=1,gain=0.17"});
  CHECK(changes_of(refused).empty());
  CHECK(refused["questions"][0]["changing_s"].get<double>() == doctest::Approx(0.015));
  const Json taken = pipeline.answer<Json>(
      "plan.yaml", events, {"--replan", "vpipe,migrate=stop-copy,granularity=layers,patience=1,gain=0.16"});
  CHECK(changes_of(taken).size() == 1);
}

TEST_CASE("simulate --replan: the planner is asked after so many uneven windows in a row") {
  const Pipeline pipeline;
  const std::string always = "{at: 0 s, device: b, slowdown: 1.5}";
  const auto first_change = [&](const std::string& events, const std::string& policy) {
    const Json changes = changes_of(pipeline.answer<Json>(
        "plan.yaml", events, {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=50," + policy}));
    return changes.empty() ? 0 : changes[0]["microbatch"].get<int>();
  };
  CHECK(first_change(always, "patience=1") / 10 == 5);
  CHECK(first_change(always, "patience=4") / 10 == 20);
  CHECK(first_change(always, "imbalance=0.33") / 10 == 10);
  CHECK(first_change(always, "imbalance=0.34") == 0);
  // Slow from 60 to 110: two windows are uneven, but not three.
  const std::string passing =
      "{at_microbatch: 60, device: b, slowdown: 1.5}, {at_microbatch: 110, device: b, slowdown: 1}";
  const auto plans_made = [&](const std::string& policy) {
    const Json told = pipeline.answer<Json>(
        "plan.yaml", passing,
        {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=50,imbalance=0.01," + policy});
    return std::ranges::count_if(told["questions"], [](const Json& question) {
      const std::string reason = question["reason"];
      return reason.find("above the mean") == std::string::npos &&
             reason.find("stages are within") == std::string::npos;
    });
  };
  CHECK(plans_made("patience=1") == 2);
  CHECK(plans_made("patience=2") == 1);
  CHECK(plans_made("patience=3") == 0);
}

// The other plan saves 3 ms a microbatch, and the switch costs 38.7 ms.
TEST_CASE("simulate --replan: a switch has to pay off within the horizon") {
  const Pipeline pipeline;
  const std::string events = "{at: 0 s, device: b, slowdown: 1.5}";
  const auto told = [&](int horizon) {
    return pipeline.answer<Json>(
        "plan.yaml", events,
        {"--replan",
         "vpipe,migrate=stop-copy,granularity=layers,patience=1,window=64,horizon=" + std::to_string(horizon)});
  };
  const Json short_sighted = told(12);
  CHECK(changes_of(short_sighted).empty());
  CHECK(short_sighted["questions"][0]["expected_stall_s"].get<double>() == doctest::Approx(0.0387));
  CHECK(short_sighted["questions"][0]["reason"].get<std::string>().find("saves 36 ms in 12 microbatches") !=
        std::string::npos);
  CHECK(changes_of(told(13)).size() == 1);
}

TEST_CASE("simulate --replan: an answer that takes time reaches a later microbatch") {
  const Pipeline pipeline;
  const auto changes_at = [&](const std::string& latency) {
    const Json told = pipeline.answer<Json>(
        "plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}",
        {"--replan", "vpipe,migrate=stop-copy,granularity=layers,patience=1,window=64,latency=" + latency});
    return changes_of(told)[0]["changes_at"].get<int>();
  };
  CHECK(changes_at("180 ms") == changes_at("0") + 10);
  CHECK(changes_at("181 ms") == changes_at("0") + 11);
}

TEST_CASE("simulate --replan: the expected stall is that of the run where nothing else contends") {
  const Pipeline pipeline;
  int compared = 0;
  for (const std::string bandwidth : {"10 GBps", "1 GBps", "100 MBps"}) {
    pipeline.write_platform(bandwidth);
    for (const std::string device : {"a", "b", "c", "d"}) {
      CAPTURE(bandwidth);
      CAPTURE(device);
      const Json told = pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: " + device + ", slowdown: 1.5}",
                                              {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=64"});
      for (const Json& replan : told["replans"]) {
        CHECK(replan["expected_stall_s"].get<double>() ==
              doctest::Approx(replan["stall_s"].get<double>()).epsilon(0.01));
        ++compared;
      }
    }
  }
  CHECK(compared >= 12);
}

TEST_CASE("simulate --replan: a window that the run does not fill is told, and that one iteration has no change") {
  const Pipeline pipeline;
  const auto answers = [&](const std::string& why, const std::vector<std::string>& options) {
    const std::string text = pipeline.text("flushed.yaml", options);
    return text.find("was never asked for another plan: " + why) != std::string::npos;
  };
  CHECK(answers("the run has 64 microbatches", {"--replan", "vpipe", "--iterations", "2"}));
  CHECK(answers("a plan with a flush changes between iterations", {"--replan", "vpipe"}));
  CHECK(answers("a plan with a flush changes between iterations", {"--replan", "vpipe,window=16"}));
}

// The program answers with cuts that suit a straggler b, if it is asked for another plan than the one that runs and
// sees that b is slow.
TEST_CASE("simulate --replan exec: a program of the user gets the plan that runs and the platform as observed") {
  const Pipeline pipeline;
  pipeline.write("planner,of,mine.sh", R"(#!/bin/sh
request=$(cat)
case $request in
  *'"running":{"schema":"stagecraft/plan/1"'*'"time_factor":1.5'*) ;;
  *) echo '{"infeasible": {"reason": "b is not slow"}}'; exit ;;
esac
cat <<PLAN
{"schema": "stagecraft/plan/1", "microbatch_size": 2, "microbatches": 1000, "schedule": {"name": "pipedream"},
 "stages": [{"layers": {"from": "l0", "to": "l4"}, "devices": ["a"]},
            {"layers": {"from": "l5", "to": "l7"}, "devices": ["b"]},
            {"layers": {"from": "l8", "to": "l11"}, "devices": ["c"]},
            {"layers": {"from": "l12", "to": "l15"}, "devices": ["d"]}]}
PLAN
)");
  std::filesystem::permissions(pipeline.path("planner,of,mine.sh"), std::filesystem::perms::owner_all);
  const std::string planner = "exec:" + pipeline.path("planner,of,mine.sh");
  const Json told = pipeline.answer<Json>("plan.yaml", "{at_microbatch: 100, device: b, slowdown: 1.5}",
                                          {"--replan", planner + ",window=100"});
  CHECK(told["questions"][0]["reason"].get<std::string>().find("no plan: b is not slow") != std::string::npos);
  const Json changes = changes_of(told);
  REQUIRE(changes.size() == 1);
  CHECK(sizes_of(changes[0]) == std::vector<std::size_t>{5, 3, 4, 4});
}

TEST_CASE("compare --replan: the events and the planner's choice to change the plan are told") {
  const Pipeline pipeline;
  pipeline.write("events.yaml", "schema: stagecraft/events/1\nevents: [{at: 0 s, device: b, slowdown: 1.5}]\n");
  std::istringstream words(
      "--planners uniform --schedule pipedream --run-length 600 --json --no-timings --set uniform.stages=4");
  std::vector<std::string> command = {"compare",
                                      "--model",
                                      pipeline.path("model.yaml"),
                                      "--platform",
                                      pipeline.path("four.yaml"),
                                      "--events",
                                      pipeline.path("events.yaml")};
  for (std::string word; words >> word;) command.push_back(word);
  const Ran kept = run(command);
  std::vector<std::string> with = command;
  with.insert(with.end(), {"--replan", "vpipe,migrate=stop-copy,granularity=layers,window=64"});
  const Ran changed = run(with);
  REQUIRE(kept.code == 0);
  REQUIRE(changed.code == 0);
  const auto simulation = [](const Ran& ran) { return Json::parse(ran.out)["models"][0]["rows"][0]["simulation"]; };
  CHECK(simulation(changed)["replans"].size() == 1);
  CHECK(simulation(changed)["period_s"].get<double>() < 0.9 * simulation(kept)["period_s"].get<double>());
}

// Three of the four devices are used.
TEST_CASE("compare --events: a plan that does not use a device which an event names is told") {
  const Pipeline pipeline;
  pipeline.write("events.yaml", "schema: stagecraft/events/1\nevents: [{at: 0 s, device: d, slowdown: 1.5}]\n");
  const Ran ran = run({"compare", "--model", pipeline.path("model.yaml"), "--platform", pipeline.path("four.yaml"),
                       "--events", pipeline.path("events.yaml"), "--planners", "uniform", "--schedule", "1f1b", "--set",
                       "uniform.stages=3", "--set", "uniform.replicas=1", "--no-timings"});
  REQUIRE(ran.code == 0);
  CHECK(ran.out.find("\nuniform: events[0] (at 0 s) names d, which the plan does not use\n") != std::string::npos);
}

}  // namespace stagecraft
