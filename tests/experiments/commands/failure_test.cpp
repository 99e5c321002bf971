// `simulate --replan` where devices fail: the run goes on without them.
#include "tests/experiments/commands/replanned_pipeline.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using testing::asked_by;
using testing::changes_of;
using testing::Pipeline;
using testing::plan_of_pairs;

/// A run in which a device fails for a while.
Json with_failure(const Pipeline& pipeline, const std::string& plan, const std::string& event,
                  const std::string& replan, const std::string& leave = "0") {
  return pipeline.answer<Json>(plan, "{" + event + "}", {"--replan", replan + ",leave=" + leave});
}

/// When the last microbatch was done. Each microbatch is in one window.
double end_of(const Json& answer, std::int64_t microbatches) {
  std::int64_t next = 0;
  for (const Json& window : answer["windows"]) {
    CHECK(window["begin"] == next);
    next = window["end"];
  }
  CHECK(next == microbatches);
  return testing::end_of(answer);
}

std::string reason_of_failure(const Json& answer) {
  const Json question = asked_by(answer, "failure");
  return question.is_null() ? "no failure" : question["reason"];
}

}  // namespace

// Microbatch m is done at 48 + 12 m ms, so that 497 of them are when b fails. Half a second later the run leaves b; it
// is back at the checkpoint after 2 s. On three devices the largest stage has six layers and takes 18 ms.
TEST_CASE("simulate --replan: a run leaves a device that fails, and goes back to the last checkpoint") {
  const Pipeline pipeline;
  const Json told = with_failure(pipeline, "plan.yaml", "at: 6.001 s, device: b, fails_for: 1 h",
                                 "vpipe,granularity=layers,replicas=1,checkpoint=100,restart=2 s", "500 ms");
  REQUIRE(told["replans"].size() == 1);
  const Json& replan = told["replans"][0];
  CHECK(replan["microbatch"] == 400);
  CHECK(replan["at_s"].get<double>() == doctest::Approx(6.501));
  CHECK(replan["redone"] == 101);  // four were in flight
  CHECK(replan["changing_s"].get<double>() == doctest::Approx(0.018));
  CHECK(replan["keeping_s"].is_null());
  CHECK(replan["stall_s"].get<double>() == doctest::Approx(8.501 + 0.048 - (0.048 + 399 * 0.012) - 0.018));
  CHECK_FALSE(told.contains("migrations"));
  CHECK(end_of(told, 1000) == doctest::Approx(8.501 + 0.048 + 599 * 0.018));
  for (const Json& stage : changes_of(told)[0]["stages"]) CHECK(stage["devices"] != Json::array({"b"}));
}

// The same without the wait and the restart: 600 microbatches come after 6.001 s.
TEST_CASE("simulate --replan: without further times a run goes on at once, and both engines agree") {
  const Pipeline pipeline;
  const std::vector<std::string> replan = {"--replan", "vpipe,granularity=layers,replicas=1,checkpoint=100,leave=0s"};
  for (const std::string engine : {"replay", "evaluate"}) {
    std::vector<std::string> options = replan;
    options.insert(options.end(), {"--engine", engine});
    const Json told = pipeline.answer<Json>("plan.yaml", "{at: 6.001 s, device: b, fails_for: 1 h}", options);
    CHECK(end_of(told, 1000) == doctest::Approx(6.001 + 0.048 + 599 * 0.018));
  }
}

TEST_CASE("simulate --replan: where state is lost or no other plan fits, the run waits for the device") {
  Pipeline pipeline;
  const std::string event = "at: 6.001 s, device: b, fails_for: 10 s";
  const Json alone = pipeline.answer<Json>("plan.yaml", "{" + event + "}", {});
  const Json without = with_failure(pipeline, "plan.yaml", event, "uniform");
  CHECK(reason_of_failure(without) == "no other device has layer 'l4', and there is no checkpoint");
  CHECK(end_of(without, 1000) == doctest::Approx(10.0 + 0.048 + 999 * 0.012).epsilon(0.001));
  CHECK(without["throughput_samples_per_s"] == alone["throughput_samples_per_s"]);
  const Json refused = with_failure(pipeline, "plan.yaml", event, "uniform,stages=4,checkpoint=1");
  CHECK(reason_of_failure(refused).find("b failed; no plan:") == 0);
  CHECK_FALSE(refused.contains("replans"));
  pipeline.write("four.yaml",
                 "schema: stagecraft/platform/1\nplatform: four\n"
                 "device_kinds: {A: {memory: 209 MB, speed: 1}, B: {memory: 130 MB, speed: 1}}\n"
                 "devices: [{name: a, kind: A}, {name: b, kind: A}, {name: c, kind: B}, {name: d, kind: B}]\n"
                 "default_link: {bandwidth: 10 GBps, latency: 0}\n");
  const Json small = with_failure(pipeline, "plan.yaml", event, "uniform,checkpoint=1,memory=keep");
  CHECK_FALSE(small.contains("replans"));
  CHECK(reason_of_failure(small).find("no plan: device") != std::string::npos);
}

TEST_CASE("simulate --replan: a device that is up again gets work again") {
  const Pipeline pipeline;
  const Json told = with_failure(pipeline, "plan.yaml", "at: 2 s, device: b, fails_for: 3 s",
                                 "vpipe,granularity=layers,replicas=1,checkpoint=100");
  const Json changes = changes_of(told);
  REQUIRE(changes.size() == 2);
  CHECK(changes[0]["asked_by"] == "failure");
  CHECK(changes[0]["stages"].size() == 3);
  CHECK(changes[1]["asked_by"] == "recovery");
  CHECK(changes[1]["at_s"].get<double>() == doctest::Approx(5.0));
  CHECK(changes[1]["reason"] == "b is up again");
  CHECK(changes[1]["stages"].size() == 4);
  const Json& windows = told["windows"];
  CHECK(windows[windows.size() - 2]["throughput_samples_per_s"].get<double>() == doctest::Approx(2 / 0.012));
  end_of(told, 1000);
}

// Both stages have two replicas, so the others have all layers. A round has two microbatches.
TEST_CASE("simulate --replan: a stage with another replica is left without a checkpoint") {
  const Pipeline pipeline;
  const Json told =
      with_failure(pipeline, plan_of_pairs(pipeline), "at: 5 s, device: b, fails_for: 1 h", "uniform,window=100");
  REQUIRE(told["replans"].size() == 1);
  const Json& replan = told["replans"][0];
  CHECK(replan["microbatch"].get<std::int64_t>() % 2 == 0);
  CHECK(replan["redone"].get<std::int64_t>() <= 8);
  CHECK(replan["moved_bytes"].get<std::int64_t>() > 0);
  for (const Json& migration : told["migrations"]) {
    CHECK(migration["from"] != "b");
    CHECK(migration["to"] != "b");
    CHECK(migration["start_s"].get<double>() >= 5.0);
  }
  CHECK(end_of(told, 1000) < 30.0);
}

TEST_CASE("simulate --replan: a flushed iteration that a failure breaks off is run again, and counts once") {
  const Pipeline pipeline;
  const Json told =
      pipeline.answer<Json>("flushed.yaml", "{at: 1.3 s, device: c, fails_for: 1 h}",
                            {"--iterations", "10", "--replan", "uniform,replicas=1,checkpoint=40,leave=0"});
  REQUIRE(told["replans"].size() == 1);
  const std::int64_t first = told["replans"][0]["microbatch"];
  CHECK(first % 32 == 0);
  const Json& iterations = told["iterations_s"];
  REQUIRE(iterations.size() == 10);
  double sum = 0.0;
  for (const Json& iteration : iterations) sum += iteration.get<double>();
  CHECK(sum == doctest::Approx(end_of(told, 320)));
  // An iteration of the first plan takes (32 + 3) times 12 ms, one of the other (32 + 2) times 18 ms at most.
  CHECK(iterations[0].get<double>() == doctest::Approx(0.42));
  CHECK(iterations[9].get<double>() <= 34 * 0.018 + 1e-9);
}

// The checkpoint is older than the second model, so that the first one is trained again before.
TEST_CASE("simulate --replan: a run goes back behind a change of the model") {
  const Pipeline pipeline;
  std::string layers;
  for (int i = 0; i < 16; ++i) {
    layers += "  - {name: l" + std::to_string(i) +
              ", forward: 2 ms, backward: 4 ms, parameters: 4 MB, output: 0 B, stash: 6 MB}\n";
  }
  pipeline.write(
      "slow.yaml",
      "schema: stagecraft/model/1\nmodel: slow\ndevice: A\nmicrobatch_size: 2\nsource: made up\nlayers:\n" + layers);
  const Json told = pipeline.answer<Json>(
      "plan.yaml", "{at_microbatch: 450, model: slow.yaml}, {at: 6.001 s, device: b, fails_for: 1 h}",
      {"--replan", "vpipe,granularity=layers,replicas=1,checkpoint=400,leave=0"});
  const Json changes = changes_of(told);
  REQUIRE(changes.size() == 3);
  CHECK(changes[0]["asked_by"] == "model");
  CHECK(changes[1]["asked_by"] == "failure");
  CHECK(changes[1]["changes_at"] == 400);
  CHECK(changes[2]["asked_by"] == "model");
  CHECK(changes[2]["changes_at"] == 450);
  CHECK(changes[2]["stages"].size() == 3);
  // From 6.001 s on: 50 microbatches of 18 ms, and 550 of 36 ms; each time the first takes as long as all layers do.
  CHECK(end_of(told, 1000) == doctest::Approx(6.001 + 0.048 + 49 * 0.018 + 0.096 + 549 * 0.036).epsilon(0.001));
}

TEST_CASE("simulate --replan: a failure before anything has run, of every device, and after the end") {
  const Pipeline pipeline;
  const std::string replan = "vpipe,granularity=layers,replicas=1,checkpoint=100";
  const Json early = with_failure(pipeline, "plan.yaml", "at: 0 s, device: a, fails_for: 1 h", replan);
  CHECK(end_of(early, 1000) == doctest::Approx(0.048 + 999 * 0.018));
  const Json all = with_failure(pipeline, "plan.yaml", "at: 3 s, device: '*', fails_for: 7 s", replan);
  CHECK(reason_of_failure(all).find("no device is left") != std::string::npos);
  CHECK(end_of(all, 1000) == doctest::Approx(7.0 + 0.048 + 999 * 0.012).epsilon(0.01));
  const Json late = with_failure(pipeline, "plan.yaml", "at: 13 s, device: a, fails_for: 1 h", replan);
  CHECK(end_of(late, 1000) == doctest::Approx(0.048 + 999 * 0.012));
  CHECK(reason_of_failure(late) == "no failure");
}

// At its end all operations have been handed to the engine, and the device still has some to run.
TEST_CASE("simulate --replan: a failure in the last microbatches is survived, too") {
  const Pipeline pipeline;
  const Json told = with_failure(pipeline, "plan.yaml", "at: 12.03 s, device: a, fails_for: 1 h",
                                 "vpipe,granularity=layers,replicas=1,checkpoint=10");
  REQUIRE(told["replans"].size() == 1);
  CHECK(told["replans"][0]["microbatch"] == 990);
  CHECK(end_of(told, 1000) == doctest::Approx(12.03 + 0.048 + 9 * 0.018));
  const Json later = with_failure(pipeline, "plan.yaml", "at: 12.03 s, device: a, fails_for: 1 h",
                                  "vpipe,granularity=layers,replicas=1,checkpoint=10", "5 ms");
  CHECK(end_of(later, 1000) == doctest::Approx(12.035 + 0.048 + 9 * 0.018));
}

// Two replicas and five rounds for an update: ten microbatches.
TEST_CASE("simulate --replan: what has been updated stays done") {
  const Pipeline pipeline;
  const std::string plan = plan_of_pairs(pipeline, 5);
  for (const std::string at : {"3 s", "4.321 s", "5.55 s"}) {
    CAPTURE(at);
    const Json told = with_failure(pipeline, plan, "at: " + at + ", device: b, fails_for: 1 h", "uniform,window=1000");
    REQUIRE(told["replans"].size() == 1);
    const std::int64_t first = told["replans"][0]["microbatch"];
    CHECK(first % 10 == 0);
    CHECK(told["replans"][0]["redone"].get<std::int64_t>() < 10 + 8);
    end_of(told, 1000);
  }
}

// b comes back while the run waits for c, of which no other device has the layers.
TEST_CASE("simulate --replan: a device that is up again is not forgotten while the run waits for another") {
  const Pipeline pipeline;
  const Json told = pipeline.answer<Json>(
      "plan.yaml", "{at: 3 s, device: b, fails_for: 1 s}, {at: 3.9 s, device: c, fails_for: 400 ms}",
      {"--replan", "vpipe,granularity=layers,replicas=1,checkpoint=200,leave=300 ms"});
  const Json changes = changes_of(told);
  REQUIRE(changes.size() >= 2);
  CHECK(changes[0]["stages"].size() == 3);
  CHECK(changes[changes.size() - 1]["stages"].size() == 4);
  end_of(told, 1000);
}

// Layers migrate from b when c fails, so that the switch never comes; what has been copied by then is no one's.
TEST_CASE("simulate --replan: a change that a failure overtakes never comes") {
  Pipeline pipeline;
  pipeline.write_platform("100 MBps");
  int overtaken = 0;
  for (int at = 2300; at < 3100; at += 50) {
    CAPTURE(at);
    const Json told = pipeline.answer<Json>(
        "plan.yaml",
        "{at: 0 s, device: b, slowdown: 1.5}, {at: " + std::to_string(at) + " ms, device: c, fails_for: 1 h}",
        {"--replan", "vpipe,granularity=layers,replicas=1,window=64,checkpoint=100,leave=0"});
    CHECK(changes_of(told).size() == told["replans"].size());
    for (const Json& question : told["questions"]) {
      if (question["reason"].get<std::string>().find("failed before") == std::string::npos) continue;
      ++overtaken;
      CHECK(question["changes_at"].is_null());
    }
    end_of(told, 1000);
  }
  CHECK(overtaken > 0);
}

}  // namespace stagecraft
