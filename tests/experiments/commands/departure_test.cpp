// `simulate --replan` where it is announced that a device leaves: the run goes on without it before it is gone.
#include "tests/experiments/commands/replanned_pipeline.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using testing::asked_by;
using testing::changes_of;
using testing::end_of;
using testing::field_case;
using testing::Pipeline;

std::vector<std::string> devices_of(const Json& stages) {
  std::vector<std::string> devices;
  for (const Json& stage : stages) {
    for (const Json& device : stage["devices"]) devices.push_back(device);
  }
  return devices;
}

/// The plan changed once, without the device, before it left at `gone`; nothing was run again.
void check_left_in_time(const Json& told, const std::string& device, double gone) {
  REQUIRE(told["replans"].size() == 1);
  CHECK(told["replans"][0]["redone"] == 0);
  CHECK(std::ranges::count(devices_of(asked_by(told, "departure")["stages"]), device) == 0);
  bool gave = false;
  for (const Json& copy : told["migrations"]) {
    CHECK(copy["end_s"] < gone);
    gave = gave || copy["from"] == device;
  }
  CHECK(gave);
}

/// The two runs go on from the same checkpoint, at the same time and with the same plan.
void check_lost_like(const Json& told, const Json& failed) {
  const Json again = asked_by(told, "failure");
  const Json expected = asked_by(failed, "failure");
  for (const std::string key : {"changes_at", "at_s", "stages"}) CHECK(again[key] == expected[key]);
  CHECK(end_of(told) == doctest::Approx(end_of(failed)));
}

/// The first copy from the device; null if there is none.
Json copy_from(const Json& answer, const std::string& device) {
  for (const Json& copy : answer.value("migrations", Json::array())) {
    if (copy["from"] == device) return copy;
  }
  return Json();
}

}  // namespace

// The layers of gpu2 are 1.5 GB with their optimizer state: 150 ms. Beside that the pipeline drains and fills again.
TEST_CASE("simulate --replan: with notice a device is left by a switch, and nothing runs again") {
  const Pipeline pipeline;
  const std::string plan = field_case(pipeline);
  for (const std::string engine : {"replay", "evaluate"}) {
    const double free =
        end_of(pipeline.answer<Json>(plan, "", {"--run-length", "3000", "--replan", "vpipe", "--engine", engine}));
    for (const std::string migrate : {"live", "stop-copy"}) {
      CAPTURE(migrate);
      const Json told = pipeline.answer<Json>(plan, "{at: 20 s, device: gpu2, leaves_at: 40 s}",
                                              {"--run-length", "3000", "--engine", engine, "--replan",
                                               "vpipe,checkpoint=1000,leave=1s,migrate=" + migrate});
      check_left_in_time(told, "gpu2", 40.0);
      CHECK(asked_by(told, "departure")["at_s"] == doctest::Approx(20.0));
      const double stall = told["replans"][0]["stall_s"];
      CHECK(stall > 0.150);
      CHECK(stall < 0.5);
      CHECK(end_of(told) == doctest::Approx(free + stall).epsilon(1e-4));
      CHECK(told["verdict"]["kept_s"].is_null());  // the plan at the start would wait for gpu2 for ever
      CHECK(told["verdict"]["replanned_s"].get<double>() == doctest::Approx(end_of(told)));
    }
  }
}

TEST_CASE("simulate --replan: events of devices that the plan no longer uses, or not yet, are told") {
  const Pipeline pipeline;
  const std::string events =
      "{at: 10 s, device: gpu2, slowdown: 1}, {at: 10 s, device: gpu4, slowdown: 1}, "
      "{at: 20 s, device: gpu2, leaves_at: 40 s}, {at: 50 s, device: gpu2, slowdown: 1}, "
      "{at: 50 s, device: gpu4, slowdown: 1}";
  const Json told = pipeline.answer<Json>(
      field_case(pipeline), events,
      {"--run-length", "3000", "--engine", "evaluate", "--replan", "vpipe,checkpoint=1000,leave=1s"});
  CHECK(told["events"]["of_unused_devices"] == Json({1, 3}));
}

// However short the notice: either the switch is over in time and costs no more than a long notice, or what is lost is
// what a failure at that time loses. The run never waits for a device that does not come back.
TEST_CASE("simulate --replan: a notice that is too short ends as a failure") {
  const Pipeline pipeline;
  const std::string plan = field_case(pipeline);
  for (const std::string migrate : {"live", "stop-copy"}) {
    const auto run = [&](const std::string& event) {
      return pipeline.answer<Json>(plan, event,
                                   {"--run-length", "400", "--engine", "evaluate", "--replan",
                                    "vpipe,checkpoint=100,leave=1s,migrate=" + migrate});
    };
    const double in_time = end_of(run("{at: 5 s, device: gpu2, leaves_at: 7 s}"));
    bool is_in_time = false;
    for (double notice = 0.01; notice < 0.8; notice += 0.03) {
      CAPTURE(notice);
      const std::string leaves_at = std::to_string(5 + notice) + " s";
      const Json told = run("{at: 5 s, device: gpu2, leaves_at: " + leaves_at + "}");
      const bool was_in_time = is_in_time;
      is_in_time = told["replans"].back()["redone"] == 0;
      CHECK(is_in_time >= was_in_time);
      if (is_in_time) {
        CHECK(end_of(told) == doctest::Approx(in_time));
      } else {
        check_lost_like(told, run("{at: " + leaves_at + ", device: gpu2, fails_for: 1 h}"));
      }
    }
    CHECK(is_in_time);
  }
}

// The copies take seconds. With or without notice, their giver is gone before they are over. What the pipeline had done
// when it was drained is done, and no more.
TEST_CASE("simulate --replan: a run goes on from a checkpoint where a giver dies in the middle of a copy") {
  const Pipeline pipeline;
  pipeline.write_platform("10 MBps");
  const auto check = [&](const std::string& plan, const std::vector<std::string>& more, auto&& events) {
    const auto run = [&](double dies) {
      std::vector<std::string> options = {
          "--replan", "uniform,stages=3,replicas=1,window=64,imbalance=0.2,horizon=1000,checkpoint=40,leave=500 ms"};
      options.insert(options.end(), more.begin(), more.end());
      return pipeline.answer<Json>(plan, events(std::to_string(dies) + " s"), options);
    };
    const Json copied = run(10000);
    const Json copy = copy_from(copied, "d");
    REQUIRE_FALSE(copy.is_null());
    const double dies = (copy["start_s"].get<double>() + copy["end_s"].get<double>()) / 2;
    const Json told = run(dies);
    REQUIRE(told["replans"].size() == 2);
    CHECK(told["replans"][1]["at_s"].get<double>() == doctest::Approx(dies + 0.5));
    const int drained = told["replans"][0]["microbatch"];
    const int saved = drained / 40 * 40;
    CHECK(told["replans"][1]["microbatch"] == (plan == "flushed.yaml" ? (saved + 31) / 32 * 32 : saved));
    CHECK(end_of(told) < end_of(copied) + 2.0);
  };
  for (const auto& [plan, more] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"plan.yaml", {}}, {"flushed.yaml", {"--iterations", "20"}}}) {
    CAPTURE(plan);
    check(plan, more, [](const std::string& dies) { return "{at: 2 s, device: d, leaves_at: " + dies + "}"; });
    check(plan, more, [](const std::string& dies) {
      return "{at: 2 s, device: d, slowdown: 4}, {at: " + dies + ", device: d, fails_for: 1e9 s}";
    });
  }
}

// d leaves while its iteration runs.
TEST_CASE("simulate --replan: what a flushed schedule loses by a notice that is too short is what a failure loses") {
  const Pipeline pipeline;
  for (const std::string at : {"1.31 s", "1.5 s", "1.6 s"}) {
    CAPTURE(at);
    const auto run = [&](const std::string& event) {
      return pipeline.answer<Json>(
          "flushed.yaml", event,
          {"--iterations", "10", "--replan", "uniform,replicas=1,window=1000,checkpoint=40,leave=500 ms"});
    };
    const Json told = run("{at: 1.3 s, device: d, leaves_at: " + at + "}");
    check_lost_like(told, run("{at: " + at + ", device: d, fails_for: 1 h}"));
    CHECK(told["iterations_s"].size() == 10);
  }
}

TEST_CASE("simulate --replan: a flushed schedule leaves a device between two iterations") {
  const Pipeline pipeline;
  const Json told = pipeline.answer<Json>("flushed.yaml", "{at: 1.3 s, device: c, leaves_at: 3 s}",
                                          {"--iterations", "10", "--replan", "uniform,window=1000"});
  check_left_in_time(told, "c", 3.0);
  CHECK(told["replans"][0]["microbatch"].get<int>() % 32 == 0);
}

TEST_CASE("simulate: without --replan a departure is a failure that lasts for ever") {
  const Pipeline pipeline;
  const std::string plan = field_case(pipeline);
  const auto windows = [&](const std::string& event) {
    return pipeline.answer<Json>(plan, event, {"--run-length", "600"})["windows"];
  };
  CHECK(windows("{at: 2 s, device: gpu2, leaves_at: 4 s}") == windows("{at: 4 s, device: gpu2, fails_for: 1e9 s}"));
}

TEST_CASE("simulate: a run that waits for ever for a device that has left says so") {
  const Toy toy;
  const std::string events = toy.file("events.yaml");
  const auto told = [&](const std::string& event) {
    write(events, "schema: stagecraft/events/1\nevents: [" + event + "]\n");
    return run({"simulate", toy.plan, "--model", toy.model, "--platform", toy.platform, "--events", events}).out;
  };
  const std::string words =
      "b leaves at 20 ms and does not come back; nothing plans without it (--replan), so the run waits";
  CHECK(told("{at: 10 ms, device: b, leaves_at: 20 ms}").find(words) != std::string::npos);
  CHECK(told("{at: 10 ms, device: b, leaves_at: 20 s}").find("does not come back") == std::string::npos);
}

// vpipe keeps four stages, so with gpu4 it would take that device in place of gpu2.
TEST_CASE("simulate --replan: no plan takes a device that is to leave") {
  const Pipeline pipeline;
  const std::string plan = field_case(pipeline);
  const Json told =
      pipeline.answer<Json>(plan, "{at: 2 s, device: gpu4, leaves_at: 100 s}, {at: 5 s, device: gpu2, fails_for: 1 h}",
                            {"--run-length", "600", "--replan", "vpipe,checkpoint=100,leave=0"});
  const Json announced = asked_by(told, "departure");
  CHECK(announced["changes_at"].is_null());
  CHECK(announced["reason"] == "idle gpu4 leaves at 100 s; the planner keeps the plan");
  REQUIRE(told["replans"].size() == 1);
  const std::vector<std::string> devices = devices_of(asked_by(told, "failure")["stages"]);
  CHECK(std::ranges::count(devices, "gpu2") == 0);
  CHECK(std::ranges::count(devices, "gpu4") == 0);
  CHECK(devices.size() == 3);
}

TEST_CASE("simulate --replan: where all devices are to leave, the run goes on with those that are still there") {
  const Pipeline pipeline;
  const Json told =
      pipeline.answer<Json>("plan.yaml",
                            "{at: 1 s, device: a, leaves_at: 3 s}, {at: 1 s, device: b, leaves_at: 6 s}, "
                            "{at: 1 s, device: c, leaves_at: 9 s}, {at: 1 s, device: d, leaves_at: 1000 s}",
                            {"--replan", "vpipe,granularity=layers,checkpoint=10,leave=0"});
  CHECK(asked_by(told, "departure")["reason"].get<std::string>().ends_with("no device is left"));
  const Json changes = changes_of(told);
  REQUIRE(changes.size() == 3);
  CHECK(devices_of(changes[0]["stages"]) == std::vector<std::string>{"b", "c", "d"});
  CHECK(devices_of(changes[1]["stages"]) == std::vector<std::string>{"c", "d"});
  CHECK(devices_of(changes[2]["stages"]) == std::vector<std::string>{"d"});
  CHECK(end_of(told) < 0.048 * 1000);  // what d alone takes
}

TEST_CASE("simulate --replan: a planner may refuse the devices that are left of idle ones, too") {
  const Pipeline pipeline;
  const Json told = pipeline.answer<Json>(field_case(pipeline), "{at: 5 s, device: gpu4, leaves_at: 10 s}",
                                          {"--run-length", "600", "--replan", "uniform,stages=5,window=1000"});
  CHECK(asked_by(told, "departure")["reason"].get<std::string>().find("no plan: ") != std::string::npos);
}

}  // namespace stagecraft
