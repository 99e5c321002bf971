// `simulate --replan …,migrate=…`: layers that migrate while training goes on. The straggler is V4 of the vPipe
// specification.
#include "tests/experiments/commands/replanned_pipeline.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using testing::Pipeline;

/// The answer of a run in which a device becomes 1.5 times as slow.
Json with_straggler(const Pipeline& pipeline, const std::string& device, const std::string& more) {
  return pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: " + device + ", slowdown: 1.5}",
                               {"--replan", "vpipe,granularity=layers,window=64" + more});
}

}  // namespace

// b takes 18 ms for its 12 ms, and gives a layer to a. Two microbatches are in flight behind it: two stashes of 6 MB
// with two versions of 4 MB, and then 4 MB of weights and 8 MB of optimizer state.
TEST_CASE("simulate --replan vpipe: layers migrate while training goes on, and next to nothing waits") {
  const Pipeline pipeline;
  const Json live = with_straggler(pipeline, "b", "");
  const Json drained = with_straggler(pipeline, "b", ",migrate=stop-copy");
  REQUIRE(live["replans"].size() == 1);
  const Json& replan = live["replans"][0];
  CHECK(replan["live"] == true);
  CHECK(replan["changing_s"].get<double>() == doctest::Approx(0.015));
  CHECK(replan["moved_bytes"] == 32'000'000);
  CHECK(replan["expected_stall_s"] == 0.0);
  CHECK(replan["stall_s"].get<double>() < 0.001);
  CHECK(drained["replans"][0]["live"] == false);
  CHECK(drained["replans"][0]["stall_s"].get<double>() > 0.03);
  std::map<std::string, int> copies;
  for (const Json& migration : live["migrations"]) {
    ++copies[migration["what"].get<std::string>()];
    CHECK(migration["layers"] == Json::array({"l4"}));
    CHECK(migration["from"] == "b");
    CHECK(migration["to"] == "a");
  }
  CHECK(copies == std::map<std::string, int>{{"optimizer", 1}, {"stash", 2}, {"weights", 3}});
  // The next window of the plan runs at its period.
  const Json& windows = live["windows"];
  CHECK(windows[windows.size() - 2]["throughput_samples_per_s"].get<double>() == doctest::Approx(2 / 0.015));
  CHECK(live["throughput_samples_per_s"] > drained["throughput_samples_per_s"]);
}

TEST_CASE("simulate --replan: a restart costs its time on top of the drain") {
  const Pipeline pipeline;
  const Json drained = with_straggler(pipeline, "b", ",migrate=stop-copy");
  const Json restarted = with_straggler(pipeline, "b", ",migrate=restart,restart=1 s");
  const double stall = restarted["replans"][0]["stall_s"].get<double>();
  CHECK(stall == doctest::Approx(1.0 + drained["replans"][0]["stall_s"].get<double>()).epsilon(0.01));
  CHECK(restarted["replans"][0]["expected_stall_s"].get<double>() == doctest::Approx(stall).epsilon(0.01));
}

// Where copies take longer than what hides them, the pipeline drains if that costs less. Else the stall is as expected,
// up to a period: the copies of a stash also wait for those of the last weights.
TEST_CASE("simulate --replan: over slow links the pipeline drains, or the stall is about as expected") {
  int live = 0;
  int drained = 0;
  for (const std::string bandwidth : {"10 GBps", "1 GBps", "500 MBps", "300 MBps", "200 MBps", "100 MBps", "10 MBps"}) {
    Pipeline pipeline;
    pipeline.write_platform(bandwidth);
    for (const std::string device : {"a", "b", "c", "d"}) {
      CAPTURE(bandwidth);
      CAPTURE(device);
      const Json told = with_straggler(pipeline, device, "");
      REQUIRE(told["replans"].size() == 1);
      const Json& replan = told["replans"][0];
      ++(replan["live"].get<bool>() ? live : drained);
      const double expected = replan["expected_stall_s"].get<double>();
      const double measured = replan["stall_s"].get<double>();
      if (replan["live"].get<bool>()) CHECK(std::abs(measured - expected) <= 0.018);
      if (!replan["live"].get<bool>()) CHECK(measured == doctest::Approx(expected).epsilon(0.01));
    }
  }
  CHECK(live >= 12);
  CHECK(drained >= 4);
}

// Layer l12 goes from d, whose microbatches leave nothing in flight, to c: two versions of 4 MB and 8 MB of optimizer
// state. They have a period of 18 ms, c's backward of 8 ms and a pass of it of 15 ms before they are late.
TEST_CASE("simulate --replan: weights that are all that is copied are as late as expected") {
  Pipeline pipeline;
  pipeline.write_platform("100 MBps");
  const Json told = with_straggler(pipeline, "d", "");
  CHECK(told["replans"][0]["live"] == true);
  CHECK(told["replans"][0]["stall_s"].get<double>() == doctest::Approx(0.160 - 0.018 - 0.023));
  CHECK(told["replans"][0]["expected_stall_s"].get<double>() == doctest::Approx(0.119));
}

// The same switch, and then another model that drains the pipeline soon after it: what that costs is no stall of the
// switch.
TEST_CASE("simulate --replan: the stall of a change ends where the next one begins") {
  const Pipeline pipeline;
  const Json alone = with_straggler(pipeline, "b", "");
  const int first = alone["replans"][0]["microbatch"].get<int>();
  for (const int later : {1, 2, 3}) {
    const std::string model = ", {at_microbatch: " + std::to_string(first + later) + ", model: model.yaml}";
    const Json told = pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}" + model,
                                            {"--replan", "vpipe,granularity=layers,window=64"});
    REQUIRE(told["replans"].size() == 2);
    CHECK(told["replans"][0]["live"] == true);
    CHECK(told["replans"][0]["stall_s"].get<double>() < 0.001);
  }
}

// A straggler's mean period of a window is no period at which the plan ran.
TEST_CASE("simulate --replan: a switch next to which nothing waits costs nothing, whenever the straggler began") {
  const Pipeline pipeline;
  for (const int at : {70, 80, 90, 100, 110}) {
    CAPTURE(at);
    const Json told =
        pipeline.answer<Json>("plan.yaml", "{at_microbatch: " + std::to_string(at) + ", device: b, slowdown: 1.5}",
                              {"--replan", "vpipe,granularity=layers,window=64,patience=1"});
    REQUIRE(!told["replans"].empty());
    CHECK(told["replans"][0]["live"] == true);
    CHECK(told["replans"][0]["stall_s"].get<double>() < 0.004);
  }
}

// The copies take 100 ms in all; the engines agree on when each of them goes.
TEST_CASE("simulate --replan: both engines let layers migrate alike where nothing contends") {
  const Pipeline pipeline;
  const std::vector<std::string> live = {"--replan", "vpipe,granularity=layers,window=64,migrate=live"};
  const auto by = [&](const std::string& engine) {
    std::vector<std::string> more = live;
    more.insert(more.end(), {"--engine", engine});
    return pipeline.answer<Json>("plan.yaml", "{at: 0 s, device: b, slowdown: 1.5}", more);
  };
  const Json replayed = by("replay");
  const Json evaluated = by("evaluate");
  REQUIRE(replayed["migrations"].size() == evaluated["migrations"].size());
  for (std::size_t i = 0; i < evaluated["migrations"].size(); ++i) {
    CHECK(replayed["migrations"][i]["start_s"].get<double>() ==
          doctest::Approx(evaluated["migrations"][i]["start_s"].get<double>()));
  }
  for (std::size_t d = 0; d < 4; ++d) {
    CHECK(replayed["devices"][d]["peak_memory_bytes"] == evaluated["devices"][d]["peak_memory_bytes"]);
  }
}

}  // namespace stagecraft
