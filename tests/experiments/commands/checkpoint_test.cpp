// `simulate --replan` where saving a checkpoint takes time.
#include "tests/experiments/commands/replanned_pipeline.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using testing::end_of;
using testing::field_case;
using testing::Pipeline;
using testing::plan_of_pairs;

Json saving(const Pipeline& pipeline, const std::string& plan, const std::string& events, const std::string& replan,
            const std::vector<std::string>& more = {}) {
  std::vector<std::string> options = {"--replan", replan};
  options.insert(options.end(), more.begin(), more.end());
  return pipeline.answer<Json>(plan, events, options);
}

}  // namespace

// Each device waits half a second after its backward of every hundredth microbatch, so all that follows it is as much
// later: without a save microbatch m is done at 48 + 12 m ms. The save after the last one comes after its end.
TEST_CASE("simulate --replan: each save of a checkpoint delays the run by its time") {
  const Pipeline pipeline;
  for (const std::string engine : {"replay", "evaluate"}) {
    for (const int distance : {1, 7, 100, 999, 1000}) {
      CAPTURE(distance);
      const Json told = saving(pipeline, "plan.yaml", "", "vpipe,save=500 ms,checkpoint=" + std::to_string(distance),
                               {"--engine", engine});
      const int saves = 999 / distance;
      CHECK(end_of(told) == doctest::Approx(0.048 + 999 * 0.012 + saves * 0.5).epsilon(1e-9));
      CHECK_FALSE(told.contains("replans"));  // a device that saves does not look slow
    }
  }
}

// A round of the two replicas of each stage has two microbatches, so that each replica is done with its part of a
// checkpoint at another time.
TEST_CASE("simulate --replan: replicas that take turns wait once for each checkpoint, too") {
  const Pipeline pipeline;
  const std::string plan = plan_of_pairs(pipeline);
  const std::string never = "uniform,imbalance=1000";
  const double free = end_of(saving(pipeline, plan, "", never));
  for (const int distance : {1, 2, 3, 50}) {
    CAPTURE(distance);
    const double told =
        end_of(saving(pipeline, plan, "", never + ",save=500 ms,checkpoint=" + std::to_string(distance)));
    const double saves = 0.5 * (999 / distance);  // by each device; its neighbours may be a few microbatches ahead
    CHECK(told >= free + saves - 1.0);
    CHECK(told <= free + saves + 1.0 + 0.024 * (999 / distance));
  }
}

// An iteration has 32 microbatches and takes 35 times 12 ms. With a distance of 40 those numbered 1 to 4 and 6 to 9,
// from 0, have a multiple of it, and the last of ten iterations ends with microbatch 320.
TEST_CASE("simulate --replan: a flushed run saves at the end of each iteration in which there is a checkpoint") {
  const Pipeline pipeline;
  for (const auto& [distance, saves] :
       std::vector<std::pair<int, int>>{{1, 10}, {32, 10}, {40, 8}, {64, 5}, {320, 1}}) {
    CAPTURE(distance);
    const Json told =
        saving(pipeline, "flushed.yaml", "",
               "uniform,imbalance=1000,save=500 ms,checkpoint=" + std::to_string(distance), {"--iterations", "10"});
    int with_save = 0;
    for (std::int64_t i = 0; i < 10; ++i) {
      const bool is_saved = (32 * i + 32) / distance > 32 * i / distance;
      with_save += is_saved ? 1 : 0;
      CHECK(told["iterations_s"][i].get<double>() == doctest::Approx(0.42 + (is_saved ? 0.5 : 0.0)).epsilon(1e-9));
    }
    CHECK(with_save == saves);
  }
}

// Back to microbatch 96, the end of the third iteration, in which the 80th is. Eight of the fourth are done when c
// fails.
TEST_CASE("simulate --replan: a flushed run goes back to the end of the last iteration that was saved") {
  const Pipeline pipeline;
  const Json told = saving(pipeline, "flushed.yaml", "{at: 1.4 s, device: c, fails_for: 1 h}",
                           "uniform,replicas=1,checkpoint=40,leave=0", {"--iterations", "10"});
  REQUIRE(told["replans"].size() == 1);
  CHECK(told["replans"][0]["microbatch"] == 96);
}

// Microbatch 99 is done everywhere at 1.236 s, and the first device saves until 1.736 s; before, only the state after
// 0 microbatches is whole.
TEST_CASE("simulate --replan: a checkpoint counts once all devices have saved it") {
  const Pipeline pipeline;
  const std::string replan = "vpipe,granularity=layers,checkpoint=100,save=500 ms,leave=0s";
  for (const auto& [at, first] :
       std::vector<std::pair<std::string, int>>{{"1.2 s", 0}, {"1.3 s", 0}, {"1.73 s", 0}, {"1.74 s", 100}}) {
    CAPTURE(at);
    const Json told = saving(pipeline, "plan.yaml", "{at: " + at + ", device: a, fails_for: 1 h}", replan);
    REQUIRE(told["replans"].size() == 1);
    CHECK(told["replans"][0]["microbatch"] == first);
    // A save that a failure breaks off does not end later, however long the run waits before it leaves.
    const Json later = saving(pipeline, "plan.yaml", "{at: " + at + ", device: a, fails_for: 1 h}",
                              "vpipe,granularity=layers,checkpoint=100,save=500 ms,leave=2s");
    CHECK(later["replans"][0]["microbatch"] == first);
  }
}

// The sums: 90.2 s for all microbatches, 0.6 s for each checkpoint, 1 s until the run leaves gpu2, and what is lost: at
// most the microbatches of a distance, those in flight, a save that is broken off and an empty pipeline. The save after
// the last microbatch comes after its end.
TEST_CASE("simulate --replan: with the time of a save, the best distance is neither the least nor the most") {
  Pipeline pipeline;
  const std::string plan = field_case(pipeline);
  std::vector<double> ends;
  for (const int distance : {10, 100, 300, 1000, 3000}) {
    CAPTURE(distance);
    const Json told =
        saving(pipeline, plan, "{at: 40 s, device: gpu2, fails_for: 1 h}",
               "vpipe,leave=1s,restart=0s,save=0.6s,checkpoint=" + std::to_string(distance), {"--run-length", "3000"});
    ends.push_back(end_of(told));
    const double saves = 0.6 * (2999 / distance);
    REQUIRE(told["replans"].size() == 1);
    const double redone = 0.030 * told["replans"][0]["redone"].get<double>();
    CHECK(told["replans"][0]["redone"] <= distance + 4);
    CHECK(ends.back() >= 90.2 + saves + 1.0 + redone - 0.15);
    CHECK(ends.back() <= 90.2 + saves + 1.0 + redone + 0.6 + 0.15);
  }
  CHECK(ends[0] == doctest::Approx(271).epsilon(0.01));
  CHECK(ends[1] == doctest::Approx(110).epsilon(0.01));
  CHECK(ends[3] == doctest::Approx(103).epsilon(0.01));
  CHECK(ends[2] < ends[1]);
  CHECK(ends[3] < ends[4]);
}

TEST_CASE("simulate --replan: a restart or a save of no time is what there is without them") {
  const Pipeline pipeline;
  const std::string event = "{at: 6.001 s, device: b, fails_for: 1 h}";
  const std::string replan = "vpipe,granularity=layers,checkpoint=100";
  const Json plain = saving(pipeline, "plan.yaml", event, replan);
  const Json zero = saving(pipeline, "plan.yaml", event, replan + ",restart=0s,save=0s");
  CHECK(plain["windows"] == zero["windows"]);
  CHECK(plain["replans"] == zero["replans"]);
}

}  // namespace stagecraft
