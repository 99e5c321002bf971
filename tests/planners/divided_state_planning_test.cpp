// What planners count where replicas divide the optimizer's state (`Training::zero`).
#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/costs/stage_exchange.hpp"
#include "planners/shared/costs/update_exchange.hpp"
#include "planners/shared/savings/least_memory.hpp"
#include "planners/shared/savings/memory_policy.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::divided_state_planning_test {

using namespace stagecraft::testing;

namespace {

const std::vector<std::string> kFlushing = {"data-parallel", "uniform", "gpipe",          "hetpipe",
                                            "dapple",        "spp",     "pipedream-sync", "exhaustive"};

Training divided(std::int64_t zero, Bytes bucket = Bytes(0)) {
  Training training;
  training.zero = zero;
  training.gradient_bucket = bucket;
  return training;
}

PlanRequest request_of(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform,
                       const Training& training, const GivenOptions& options = {}) {
  return {.graph = graph,
          .platform = platform,
          .schedule = {planner.default_schedule, {}},
          .microbatches = 8,
          .training = training,
          .options = parse_options(planner, options)};
}

/// Layers of 400 bytes of parameters, which are a hundred.
LayerGraph heavy(std::size_t layers) {
  LayerGraph graph = chain(std::vector<double>(layers, 1.0));
  for (Layer& layer : graph.layers) layer.parameters = Bytes(400);
  return graph;
}

std::vector<Bytes> peaks_of(const std::vector<std::pair<DeviceId, Bytes>>& peaks) {
  std::vector<Bytes> bytes;
  for (const auto& [device, peak] : peaks) bytes.push_back(peak);
  return bytes;
}

}  // namespace

TEST_CASE("divided planning: copies of the state are those of the ledger, and never more") {
  std::mt19937 random(3);
  for (int i = 0; i < random_cases(2000); ++i) {
    Training training;
    training.zero = static_cast<std::int64_t>(random() % 4);
    training.gradient_copies = static_cast<std::int64_t>(random() % 4);
    training.optimizer_copies = static_cast<std::int64_t>(random() % 7);
    if (random() % 2 == 0) training.recipe = OptimizerRecipe::Mixed;
    const auto replicas = static_cast<std::int64_t>(1 + random() % 9);
    const auto versions = static_cast<std::int64_t>(random() % 3);
    const std::int64_t bytes = weight_bytes(training) * static_cast<std::int64_t>(random() % 1000);
    const double copies = state_copies(training, versions, replicas);
    const auto held = [&](std::int64_t parameters) {
      return static_cast<double>(kept_state(training, {Bytes(parameters), versions, replicas}).total().value());
    };
    CHECK(copies * static_cast<double>(bytes * replicas) == doctest::Approx(held(bytes * replicas)).epsilon(1e-12));
    CHECK(copies * static_cast<double>(bytes) <= held(bytes) * (1 + 1e-12));
  }
}

// With `mixed` a byte of weights has two of gradients: an all-reduce of 2, or halves of all-reduces of 2 and of 1.
TEST_CASE("divided planning: a reduce-scatter of gradients and an all-gather of weights") {
  Training training;
  training.recipe = OptimizerRecipe::Mixed;
  const auto all_reduce = [](Bytes bytes) { return Seconds(static_cast<double>(bytes.value()) / 100.0); };
  CHECK(update_exchange(training).copies() == 2.0);
  CHECK(update_exchange(training).reduced(Bytes(100), all_reduce) == Seconds(2.0));
  CHECK(update_exchange(training).gathered(Bytes(100), all_reduce) == Seconds(0.0));
  training.zero = 1;
  CHECK(update_exchange(training).copies() == 1.5);
  CHECK(update_exchange(training).reduced(Bytes(100), all_reduce) == Seconds(1.0));
  CHECK(update_exchange(training).gathered_after(Bytes(100), all_reduce) == Seconds(0.5));
  CHECK(update_exchange(training).each_time(Bytes(100), all_reduce) == Seconds(0.0));
  training.zero = 2;
  CHECK(update_exchange(training).gathered_after(Bytes(100), all_reduce) == Seconds(0.5));
  CHECK(update_exchange(training).each_time(Bytes(100), all_reduce) == Seconds(1.0));
  training.zero = 3;
  CHECK(update_exchange(training).gathered_after(Bytes(100), all_reduce) == Seconds(0.0));
  CHECK(update_exchange(training).each_time(Bytes(100), all_reduce) == Seconds(2.0));
  CHECK(update_exchange(training).copies() == 2.0);
  training.zero = 1;
  training.recipe = OptimizerRecipe::Fp32;
  CHECK(update_exchange(training).copies() == 1.0);
}

// Two layers of 400 B, forward 1 s and backward 2 s each, on 4 devices of 100 B/s: half of an all-reduce of 800 B takes
// 3 / 4 · 800 / 100 = 6 s. In buckets of a layer, 3 s each, the first is hidden behind the last backward for 2 s, so
// both end 4 s after it; and weights come 4 s after a forward of 2 s would have ended.
TEST_CASE("divided planning: what is exchanged beyond a backward, and gathered beyond a forward") {
  const LayerGraph graph = heavy(2);
  const Platform platform = flat_platform(4);
  Stage stage;
  stage.layers = {LayerId(0), LayerId(1)};
  stage.replicas = groups_of_one(all_devices(platform));
  const auto summed = [&](const Training& training) {
    return ring_beyond_backward(graph, platform, training, stage).value();
  };
  const auto gathered = [&](const Training& training) {
    return gather_beyond_forward(graph, platform, training, stage).value();
  };
  CHECK(summed(divided(0)) == doctest::Approx(12.0).epsilon(1e-12));
  CHECK(summed(divided(1)) == doctest::Approx(6.0).epsilon(1e-12));
  CHECK(gathered(divided(1)) == doctest::Approx(6.0).epsilon(1e-12));
  CHECK(summed(divided(0, Bytes(400))) == doctest::Approx(10.0).epsilon(1e-12));
  CHECK(summed(divided(1, Bytes(400))) == doctest::Approx(4.0).epsilon(1e-12));
  CHECK(gathered(divided(1, Bytes(400))) == doctest::Approx(4.0).epsilon(1e-12));
  CHECK(gathered(divided(0)) == 0.0);
  CHECK(exchanges_each_time(graph, platform, divided(1), stage).all == Seconds(0.0));
  CHECK(exchanges_each_time(graph, platform, divided(2), stage).all.value() == doctest::Approx(6.0).epsilon(1e-12));
  CHECK(exchanges_each_time(graph, platform, divided(2), stage).exposed == Seconds(0.0));
  CHECK(exchanges_each_time(graph, platform, divided(3), stage).all.value() == doctest::Approx(18.0).epsilon(1e-12));
  CHECK(exchanges_each_time(graph, platform, divided(3), stage).exposed.value() == doctest::Approx(6.0).epsilon(1e-12));
  CHECK(gathered(divided(3)) == 0.0);
  CHECK(divided_buffers(graph, divided(1), stage.layers) == Bytes(0));
  CHECK(divided_buffers(graph, divided(2), stage.layers) == Bytes(2 * 400));
  CHECK(divided_buffers(graph, divided(2, Bytes(800)), stage.layers) == Bytes(800));  // all of them
}

TEST_CASE("divided planning: data parallelism claims what an evaluation takes") {
  const PlannerInfo& planner = find_planner("data-parallel");
  for (const std::int64_t zero : {1, 2, 3}) {
    for (const std::int64_t bucket : {0, 400, 1000}) {
      const LayerGraph graph = heavy(6);
      const Platform platform = flat_platform(4, 400.0);
      const PlanResult result = planner.plan(request_of(planner, graph, platform, divided(zero, Bytes(bucket))));
      const Plan& plan = std::get<Planned>(result).plan;
      CHECK(plan.predicted.iteration_time == evaluate_plan(graph, platform, plan).iterations.back());
    }
  }
}

// On a device without replicas the state is four times its parameters; of four replicas two and a half times.
TEST_CASE("divided planning: every planner predicts the peaks of the run, and finds plans where whole state fits not") {
  std::mt19937 random(11);
  int helped = 0;
  const int rounds = random_cases(60);
  for (int i = 0; i < rounds; ++i) {
    CAPTURE(i);
    LayerGraph graph = chain(std::vector<double>(4 + random() % 4, 1.0));
    for (Layer& layer : graph.layers) layer.parameters = Bytes(4 * static_cast<std::int64_t>(20 + random() % 80));
    const auto room = static_cast<std::int64_t>(1200 + random() % 4000);
    const Platform platform = flat_platform(4, 400.0, Bytes(room));
    for (const std::string& name : kFlushing) {
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      bool whole_fits = false;
      for (const std::int64_t zero : {0, 1, 2}) {
        CAPTURE(zero);
        const PlanResult result = plan_within_memory(planner, request_of(planner, graph, platform, divided(zero)));
        const auto* planned = std::get_if<Planned>(&result);
        if (zero == 0) whole_fits = planned != nullptr;
        if (zero == 1 && whole_fits) CHECK(planned != nullptr);
        if (planned == nullptr) continue;
        helped += zero == 1 && !whole_fits ? 1 : 0;
        const Report report = evaluate_plan(graph, platform, planned->plan);
        CHECK(peaks_of(planned->plan.predicted.peak_memory) == peaks_of(report.figures().peak_memory));
        for (const Bytes peak : peaks_of(planned->plan.predicted.peak_memory)) CHECK(peak <= Bytes(room));
      }
    }
  }
  CHECK(helped >= rounds / 4);
}

// One stage on each of two devices of either part. With all four layers of a part on its devices, a stage of two keeps
// 800 B of weights and of gradients; its two moments are 1,600 B, of which a replica in either part has half.
TEST_CASE("divided planning: the replicas of pipelines side by side divide, too") {
  const LayerGraph graph = heavy(4);
  for (const std::string name : {"spp", "dapple", "pipedream-sync"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    const auto plan_with = [&](std::int64_t zero, std::int64_t room) {
      LayerGraph one = graph;
      one.microbatch_size = 1;  // a stage of `spp` and `dapple` has one replica
      const Platform platform = flat_platform(4, 1e6, Bytes(room));
      return plan_within_memory(planner, request_of(planner, one, platform, divided(zero), {{"pipelines", "2"}}));
    };
    const PlanResult roomy = plan_with(1, 1'000'000);
    const Plan& plan = std::get<Planned>(roomy).plan;
    const std::int64_t most = std::ranges::max(peaks_of(plan.predicted.peak_memory)).value();
    CHECK(most < 3200);
    CHECK(std::holds_alternative<Infeasible>(plan_with(0, most)));
    const PlanResult tight = plan_with(1, most);
    REQUIRE(std::holds_alternative<Planned>(tight));
    CHECK(std::get<Planned>(tight).plan == plan);
    CHECK(std::holds_alternative<Infeasible>(plan_with(1, 2400)));
  }
}

// Each of two stages of two replicas keeps 3 layers: 1,200 B of weights and of gradients and 2,400 B of moments, of
// which each replica has half. Without stash of the other layers a device then needs 3,600 B and what is in flight.
TEST_CASE("divided planning: planners that save memory save nothing that the divided state leaves room for") {
  LayerGraph graph = heavy(6);
  for (Layer& layer : graph.layers) layer.stash = Bytes(300);
  for (const std::string name : {"vpipe", "dawnpiper"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    const auto plan_with = [&](std::int64_t zero, std::int64_t room) {
      const Platform platform = flat_platform(4, 1e6, Bytes(room));
      PlanRequest request = request_of(planner, graph, platform, divided(zero), {{"stages", "2"}, {"replicas", "2"}});
      request.schedule.name = "1f1b";
      request.memory = MemoryPolicy::Recompute;
      return plan_within_memory(planner, request);
    };
    const auto actions = [](const PlanResult& result) {
      std::size_t sum = 0;
      for (const Stage& stage : std::get<Planned>(result).plan.stages) sum += stage.memory.size();
      return sum;
    };
    CHECK(actions(plan_with(1, 3600 + 2 * 900 + 20)) == 0);
    CHECK(actions(plan_with(0, 4800 + 900)) > 0);
    CHECK(std::holds_alternative<Planned>(plan_with(1, 4700)));
    CHECK(std::holds_alternative<Infeasible>(plan_with(0, 4700)));
  }
}

TEST_CASE("divided planning: what does not flush is refused before a search") {
  const LayerGraph graph = heavy(4);
  const Platform platform = flat_platform(4);
  for (const std::string name : {"contiguous", "madpipe", "pipedream", "vpipe", "dawnpiper"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    CHECK_THROWS_WITH_AS((void)plan_within_memory(planner, request_of(planner, graph, platform, divided(1))),
                         doctest::Contains("does not flush"), InputError);
    CHECK_NOTHROW((void)plan_within_memory(planner, request_of(planner, graph, platform, divided(0))));
  }
}

TEST_CASE("divided planning: a refusal names the division where it would make the state smaller") {
  const LayerGraph graph = heavy(4);
  const auto reason_of = [&](const std::string& name, std::int64_t zero, const GivenOptions& options) {
    const PlannerInfo& planner = find_planner(name);
    const Platform platform = flat_platform(4, 400.0, Bytes(300));
    return std::get<Infeasible>(planner.plan(request_of(planner, graph, platform, divided(zero), options))).reason;
  };
  const auto names_zero = [&](const std::string& reason) { return reason.find("--zero 1") != std::string::npos; };
  CHECK(names_zero(reason_of("data-parallel", 0, {})));
  CHECK_FALSE(names_zero(reason_of("data-parallel", 1, {})));
  CHECK_FALSE(names_zero(reason_of("uniform", 0, {{"stages", "4"}, {"replicas", "1"}})));
}

}  // namespace stagecraft::divided_state_planning_test
