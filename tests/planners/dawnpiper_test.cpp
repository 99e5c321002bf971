// The planner `dawnpiper` on models and platforms; its algorithm without them is tested in
// dawnpiper_partition_test.cpp.
#include "planners/planner.hpp"
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::dawnpiper_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& dawnpiper() { return find_planner("dawnpiper"); }

PlanResult plan_with(const LayerGraph& graph, const Platform& platform, const std::string& schedule,
                     const GivenOptions& options = {}, std::int64_t microbatches = 64) {
  return dawnpiper().plan(request_for(dawnpiper(), graph, platform, schedule, microbatches, options));
}

std::vector<std::int64_t> counts_in(const Detail& list) {
  std::vector<std::int64_t> counts;
  for (const Detail& each : std::get<Detail::List>(list.value)) counts.push_back(std::get<std::int64_t>(each.value));
  return counts;
}

}  // namespace

TEST_CASE("dawnpiper: of a chain, the memory that is planned for a stage is the peak of its device to the byte") {
  int plans = 0;
  int recomputing = 0;
  const unsigned cases = random_cases(40U);
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_chain(seed, 10 + seed % 6);
    for (const std::string schedule : {"pipedream", "1f1b", "gpipe", "eager-1f1b"}) {
      CAPTURE(schedule);
      const std::int64_t need = largest_need(dawnpiper(), graph, 3, schedule);
      const std::size_t replicas = 1 + seed % 2;
      const Platform platform = flat_platform(3 * replicas, 1e6, Bytes(need * (50 + 10 * (seed % 5)) / 100));
      const PlanResult result = plan_with(graph, platform, schedule, {{"replicas", std::to_string(replicas)}});
      const auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr) continue;
      ++plans;
      if (std::get<std::int64_t>(detail(*planned, "recomputed").value) > 0) ++recomputing;
      CHECK(check_plan(graph, platform, planned->plan).empty());
      const std::vector<std::int64_t> memory = counts_in(detail(*planned, "stage_memory_bytes"));
      const auto& peaks = planned->plan.predicted.peak_memory;
      const Report report = evaluate_plan(graph, platform, planned->plan);
      REQUIRE(memory.size() == 3);
      REQUIRE(peaks.size() == 3 * replicas);
      REQUIRE(report.devices.size() == peaks.size());
      for (std::size_t d = 0; d < peaks.size(); ++d) {
        CHECK(peaks[d].second.value() == memory[d / replicas]);
        CHECK(report.devices[d].memory.peak.value() == memory[d / replicas]);
      }
      CHECK_FALSE(report.out_of_memory());
      CHECK(std::get<std::int64_t>(detail(*planned, "ledger_rounds").value) == 1);
    }
  }
  CHECK(plans > static_cast<int>(2 * cases));
  CHECK(recomputing > static_cast<int>(cases));
}

TEST_CASE("dawnpiper: the period of an asynchronous plan is that of its slowest stage, and the run has it") {
  const LayerGraph graph = varied_chain(3, 12);
  for (const std::int64_t percent : {100, 80, 65}) {
    for (const std::size_t replicas : {1, 2}) {
      CAPTURE(percent);
      CAPTURE(replicas);
      const Bytes memory(largest_need(dawnpiper(), graph, 3, "pipedream") * percent / 100);
      const Platform platform = flat_platform(3 * replicas, 1e6, memory);
      const PlanResult result = plan_with(graph, platform, "pipedream", {{"replicas", std::to_string(replicas)}}, 400);
      REQUIRE(std::holds_alternative<Planned>(result));
      const Plan& plan = std::get<Planned>(result).plan;
      const Report report = evaluate_plan(graph, platform, plan);
      // Replicas exchange gradients after each round, on a network a million times faster than the stages.
      CHECK(report.period->value() == doctest::Approx(plan.predicted.period->value()).epsilon(1e-3));
      CHECK(std::get<double>(detail(std::get<Planned>(result), "period_s").value) ==
            doctest::Approx(plan.predicted.period->value()).epsilon(1e-3));
    }
  }
}

TEST_CASE("dawnpiper: less memory never makes the exact plan faster, and its plans fit") {
  for (unsigned seed = 1; seed <= random_cases(12U); ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_chain(seed, 12);
    const std::int64_t need = largest_need(dawnpiper(), graph, 4, "1f1b");
    double last = 0.0;
    for (std::int64_t percent = 100; percent >= 30; percent -= 10) {
      const Platform platform = flat_platform(4, 1e6, Bytes(need * percent / 100));
      const PlanResult result = plan_with(graph, platform, "1f1b", {{"leaf", "exact"}, {"margin", "20"}});
      const auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr) break;
      const double period = std::get<double>(detail(*planned, "period_s").value);
      CHECK(period >= last);
      last = period;
    }
    CHECK(last > 0.0);
  }
}

TEST_CASE("dawnpiper: every plan of a graph with skips, shared tensors and unequal devices is valid and fits") {
  int plans = 0;
  const unsigned cases = random_cases(60U);
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_graph(seed, 9 + seed % 8);
    const std::int64_t need = largest_need(dawnpiper(), graph, 4, "pipedream");
    const std::size_t replicas = 1 + seed % 2;
    PlatformSpec spec = swapping_platform(4 * replicas, Bytes(need * (40 + 10 * (seed % 6)) / 100), 20.0).spec;
    spec.device_kinds.push_back({"B", Bytes(need), 0.5, Bytes(0), std::nullopt});
    std::get<ExplicitForm>(spec.form).devices[DeviceId(seed % 4)].kind = DeviceKindId(1);
    const Platform platform = build_platform(spec);
    for (const std::string schedule : {"pipedream", "1f1b"}) {
      for (const std::string granularity : {"operators", "blocks"}) {
        CAPTURE(schedule);
        CAPTURE(granularity);
        const GivenOptions options = {
            {"granularity", granularity}, {"segments", granularity}, {"replicas", std::to_string(replicas)}};
        const PlanResult result = plan_with(graph, platform, schedule, options);
        const auto* planned = std::get_if<Planned>(&result);
        if (planned == nullptr) continue;
        ++plans;
        CHECK(check_plan(graph, platform, planned->plan).empty());
        CHECK_FALSE(evaluate_plan(graph, platform, planned->plan).out_of_memory());
      }
    }
  }
  CHECK(plans > static_cast<int>(2 * cases));
}

TEST_CASE("dawnpiper: swaps only where a host can be reached, and no more than its memory holds") {
  const LayerGraph graph = varied_chain(5, 16);
  const std::int64_t need = largest_need(dawnpiper(), graph, 4, "1f1b");
  const Bytes memory(need * 80 / 100);
  const auto planned = [&](const Platform& platform) {
    const PlanResult result = plan_with(graph, platform, "1f1b");
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    const Report report = evaluate_plan(graph, platform, plan);
    CHECK_FALSE(report.out_of_memory());
    return plan;
  };
  CHECK(count_swaps(planned(flat_platform(4, 1e6, memory))) == 0);
  const Platform ample = swapping_platform(4, memory, 100.0);
  const Plan swapping = planned(ample);
  CHECK(count_swaps(swapping) > 0);
  // The hosts get less memory than that plan has there at its peak.
  Bytes most;
  for (const HostReport& host : evaluate_plan(graph, ample, swapping).hosts) most = std::max(most, host.memory.peak);
  REQUIRE(most > Bytes(1));
  const Plan poorer = planned(swapping_platform(4, memory, 100.0, most - Bytes(1)));
  CHECK(count_swaps(poorer) < count_swaps(swapping));
  const PlanResult none = plan_with(graph, ample, "1f1b", {{"swap", "false"}});
  CHECK(count_swaps(std::get<Planned>(none).plan) == 0);
}

TEST_CASE("dawnpiper: a stage on a slower device gets fewer layers") {
  // Twelve layers of 3 s on devices of speeds 1, 1/2 and 1: 5, 2 and 5 layers take 15, 12 and 15 s.
  PlatformSpec spec = flat_platform(3, 1e6).spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  const PlanResult result = plan_with(chain(std::vector<double>(12, 1.0)), build_platform(spec), "1f1b");
  REQUIRE(std::holds_alternative<Planned>(result));
  const std::vector<Stage>& stages = std::get<Planned>(result).plan.stages;
  REQUIRE(stages.size() == 3);
  CHECK(stages[0].layers.size() == 5);
  CHECK(stages[1].layers.size() == 2);
  CHECK(stages[2].layers.size() == 5);
}

TEST_CASE("dawnpiper: with fewer units than devices stages have replicas, or devices are unused") {
  const PlanResult result = plan_with(chain({1, 2}), flat_platform(5), "pipedream", {{"replicas", "1"}});
  CHECK(std::get<Planned>(result).plan.stages.size() == 2);
  const PlanResult single = run_planner(find_planner("dawnpiper"), chain({1}), flat_platform(5));
  REQUIRE(std::get<Planned>(single).plan.stages.size() == 1);
  CHECK(std::get<Planned>(single).plan.stages.front().replicas.size() == 5);
}

TEST_CASE("dawnpiper: a slow link moves a cut to a smaller tensor unless boundaries do not count") {
  // Four layers of 3 s each and two devices. The tensor in the middle takes 20 s, that before it 1 s.
  LayerGraph graph = chain({1, 1, 1, 1});
  graph.layers[LayerId(1)].output = graph.edges[1].bytes = Bytes(200);
  const auto first = [&](const std::string& counts) {
    const PlanResult result = plan_with(graph, flat_platform(2, 10.0), "pipedream", {{"boundaries", counts}});
    return std::get<Planned>(result).plan.stages.front().layers.size();
  };
  CHECK(first("true") != 2);
  CHECK(first("false") == 2);
}

TEST_CASE("dawnpiper: schedules that place or count in another way, and devices that are apart, are refused") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  for (const std::string schedule : {"interleaved-1f1b", "1f1b-star", "spp-pe"}) {
    CAPTURE(schedule);
    CHECK_THROWS_AS((void)plan_with(graph, flat_platform(2), schedule), InputError);
  }
  PlatformSpec apart = flat_platform(2).spec;
  std::get<ExplicitForm>(apart.form).default_link.reset();
  CHECK_THROWS_AS((void)plan_with(graph, build_platform(apart), "1f1b"), InputError);
}

TEST_CASE("dawnpiper: a search that has done enough says so and still gives a plan that fits") {
  const LayerGraph graph = varied_chain(2, 40);
  const Platform platform = flat_platform(8, 1e6, Bytes(largest_need(dawnpiper(), graph, 8, "1f1b") * 6 / 10));
  const PlanResult result = plan_with(graph, platform, "1f1b", {{"max_work", "1000"}});
  REQUIRE(std::holds_alternative<Planned>(result));
  CHECK(std::get<Planned>(result).notes.size() == 1);
  CHECK_FALSE(evaluate_plan(graph, platform, std::get<Planned>(result).plan).out_of_memory());
}

}  // namespace stagecraft::dawnpiper_test
