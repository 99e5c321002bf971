// The planner `vpipe` on models and platforms; its algorithm without them is tested in vpipe_savings_test.cpp and
// vpipe_moves_test.cpp.
#include "planners/planner.hpp"
#include "planners/registry.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::vpipe_test {

using namespace stagecraft::testing;

namespace {

const PlannerInfo& vpipe() { return find_planner("vpipe"); }

PlanResult plan_with(const LayerGraph& graph, const Platform& platform, const std::string& schedule = "pipedream",
                     const GivenOptions& options = {}, std::int64_t microbatches = 64) {
  return vpipe().plan(request_for(vpipe(), graph, platform, schedule, microbatches, options));
}

std::vector<std::size_t> sizes(const Plan& plan) {
  std::vector<std::size_t> layers;
  for (const Stage& stage : plan.stages) layers.push_back(stage.layers.size());
  return layers;
}

std::size_t count_recomputed(const Plan& plan) {
  std::size_t count = 0;
  for (const Stage& stage : plan.stages) count += actions_of<Recompute>(stage).size();
  return count;
}

/// The specification's 24 units (2, 4, 1, 6, 1) as a chain of layers: outputs and buffers are small.
LayerGraph chain_of_v3() {
  LayerGraph graph = chain(std::vector<double>(24, 2.0));
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(1000);
    layer.stash = Bytes(6000);
    layer.checkpoint = Bytes(1000);
  }
  return graph;
}

}  // namespace

TEST_CASE("vpipe: the specification's 24 units as a model, to the byte") {
  // As in its example V3, times 1000; a stage also has two buffers of 10 bytes at each of its boundaries. With its
  // capacities the cuts 5, 11, 17 are best, which need all of 95, 107, 102 (of 110) … bytes.
  const LayerGraph graph = chain_of_v3();
  struct Row {
    std::int64_t capacity;
    std::vector<std::size_t> layers, recomputed;
    double period;
  };
  for (const Row& row : {Row{110'040, {5, 6, 6, 7}, {3, 3, 0, 0}, 42}, Row{95'040, {5, 6, 6, 7}, {3, 4, 1, 0}, 44},
                         Row{80'040, {5, 6, 6, 7}, {4, 5, 3, 0}, 46}, Row{190'000, {6, 6, 6, 6}, {0, 0, 0, 0}, 36}}) {
    CAPTURE(row.capacity);
    const Platform platform = flat_platform(4, 1e6, Bytes(row.capacity));
    const PlanResult result = plan_with(graph, platform, "pipedream", {{"recompute_style", "per_unit"}});
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(sizes(plan) == row.layers);
    for (std::size_t s = 0; s < 4; ++s) CHECK(actions_of<Recompute>(plan.stages[s]).size() == row.recomputed[s]);
    CHECK(plan.predicted.period->value() == doctest::Approx(row.period));
    CHECK(evaluate_plan(graph, platform, plan).period->value() == doctest::Approx(row.period).epsilon(1e-3));
    const PlanResult segments = plan_with(graph, platform);
    CHECK(std::get<Planned>(segments).plan.predicted.period->value() <= row.period * 1.0001);
  }
}

TEST_CASE("vpipe: the planned peaks are those of the run if orders are strict and nothing is swapped") {
  int plans = 0;
  int recomputing = 0;
  const unsigned cases = random_cases(40U);
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_chain(seed, 10 + seed % 6);
    for (const std::string schedule : {"pipedream", "1f1b", "gpipe"}) {
      for (const std::string style : {"segments", "per_unit", "suffix_segment"}) {
        CAPTURE(schedule);
        CAPTURE(style);
        const Bytes memory(largest_need(vpipe(), graph, 3, schedule) * (50 + 10 * (seed % 5)) / 100);
        const std::size_t replicas = 1 + seed % 2;
        const Platform platform = flat_platform(3 * replicas, 1e6, memory);
        const PlanResult result =
            plan_with(graph, platform, schedule, {{"recompute_style", style}, {"replicas", std::to_string(replicas)}});
        const auto* planned = std::get_if<Planned>(&result);
        if (planned == nullptr) continue;
        ++plans;
        recomputing += count_recomputed(planned->plan) > 0 ? 1 : 0;
        CHECK(count_swaps(planned->plan) == 0);
        CHECK(check_plan(graph, platform, planned->plan).empty());
        const Report report = evaluate_plan(graph, platform, planned->plan);
        const auto& peaks = planned->plan.predicted.peak_memory;
        REQUIRE(report.devices.size() == peaks.size());
        for (std::size_t s = 0; s < peaks.size(); ++s) CHECK(report.devices[s].memory.peak == peaks[s].second);
        CHECK_FALSE(report.out_of_memory());
        // The estimate of a chain is the ledger's memory, so stages are sought once.
        CHECK(std::get<std::int64_t>(detail(*planned, "ledger_rounds").value) == 1);
      }
    }
  }
  CHECK(plans > static_cast<int>(3 * cases));
  CHECK(recomputing > static_cast<int>(cases));
}

TEST_CASE("vpipe: every plan of graphs with skips, shared tensors, hosts and unequal devices is valid and fits") {
  int plans = 0;
  int swapping = 0;
  const unsigned cases = random_cases(40U);
  const std::vector<GivenOptions> choices = {{},
                                             {{"granularity", "layers"}, {"sr", "exact"}},
                                             {{"recompute_style", "suffix_segment"}, {"start", "pipedream"}},
                                             {{"granularity", "operators"}, {"plan_counts_boundary_traffic", "true"}}};
  for (unsigned seed = 1; seed <= cases; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_graph(seed, 9 + seed % 8);
    const std::int64_t need = largest_need(vpipe(), graph, 4, "pipedream");
    const std::size_t replicas = 1 + seed / 4 % 2;
    PlatformSpec spec = swapping_platform(4 * replicas, Bytes(need * (40 + 10 * (seed % 6)) / 100), 20.0).spec;
    spec.device_kinds.push_back({"B", Bytes(need), 0.5, Bytes(0), std::nullopt});
    std::get<ExplicitForm>(spec.form).devices[DeviceId(seed % 4)].kind = DeviceKindId(1);
    const Platform platform = build_platform(spec);
    for (const std::string schedule : {"pipedream", "1f1b"}) {
      GivenOptions options = choices[seed % choices.size()];
      options.emplace_back("replicas", std::to_string(replicas));
      const PlanResult result = plan_with(graph, platform, schedule, options);
      const auto* planned = std::get_if<Planned>(&result);
      if (planned == nullptr) continue;
      ++plans;
      swapping += count_swaps(planned->plan) > 0 ? 1 : 0;
      CHECK(check_plan(graph, platform, planned->plan).empty());
      CHECK_FALSE(evaluate_plan(graph, platform, planned->plan).out_of_memory());
    }
  }
  CHECK(plans > static_cast<int>(cases));
  CHECK(swapping > static_cast<int>(cases) / 5);
}

TEST_CASE("vpipe: the last units of a stage are recomputed as one segment, as in its repository") {
  // Capacity 80,000 of the units of V3, of which the first stage keeps some whatever it does.
  const LayerGraph graph = chain_of_v3();
  const PlanResult result =
      plan_with(graph, flat_platform(4, 1e6, Bytes(100'000)), "pipedream", {{"recompute_style", "suffix_segment"}});
  REQUIRE(std::holds_alternative<Planned>(result));
  const auto& planned = std::get<Planned>(result);
  const Detail::List& shares = std::get<Detail::List>(detail(planned, "recompute_share").value);
  bool recomputes = false;
  for (std::size_t s = 0; s < planned.plan.stages.size(); ++s) {
    const Stage& stage = planned.plan.stages[s];
    const std::vector<Recompute> segments = actions_of<Recompute>(stage);
    REQUIRE(segments.size() <= 1);
    const std::size_t count = segments.empty() ? 0 : segments[0].layers.size();
    const double share = static_cast<double>(count) / static_cast<double>(stage.layers.size());
    CHECK(std::abs(std::get<double>(shares[s].value) - share) <= 0.0005);
    if (count == 0) continue;
    recomputes = true;
    CHECK(segments[0].layers.back() == stage.layers.back());
  }
  CHECK(recomputes);
}

TEST_CASE("vpipe: swaps what the host link can hide, nothing without a host or if nothing leaves the device") {
  // A unit of 6,000 bytes is copied in 0.6 s at 10,000 B/s, of the 36 s of a stage. With as many swapped units resident
  // as microbatches are in flight a swap saves nothing.
  LayerGraph graph = chain_of_v3();
  for (Layer& layer : graph.layers) layer.output = Bytes(9000);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(9000);
  const Bytes memory(170'000);
  const auto swapped = [&](const Platform& platform, const GivenOptions& options) {
    const PlanResult result = plan_with(graph, platform, "pipedream", options);
    REQUIRE(std::holds_alternative<Planned>(result));
    std::int64_t sum = 0;
    const auto& planned = std::get<Planned>(result);
    for (const Detail& bytes : std::get<Detail::List>(detail(planned, "swapped_bytes").value)) {
      sum += std::get<std::int64_t>(bytes.value);
    }
    CHECK((sum > 0) == (count_swaps(planned.plan) > 0));
    return sum;
  };
  CHECK(swapped(flat_platform(4, 1e6, memory), {}) == 0);
  CHECK(swapped(swapping_platform(4, memory, 10'000.0), {}) > 0);
  CHECK(swapped(swapping_platform(4, memory, 10'000.0), {{"resident", "4"}}) == 0);
  CHECK(swapped(swapping_platform(4, memory, 10'000.0), {{"swap", "false"}}) == 0);
}

TEST_CASE("vpipe: a start with transfers avoids a wide cut, and moves may go back over it") {
  // Four layers of 3 s and two devices. The tensor in the middle takes 20 s. Moves look at stages alone.
  LayerGraph graph = chain({1, 1, 1, 1});
  graph.layers[LayerId(1)].output = graph.edges[1].bytes = Bytes(200);
  for (const std::string start : {"balanced", "pipedream"}) {
    const PlanResult result = plan_with(graph, flat_platform(2, 10.0), "pipedream", {{"start", start}});
    CHECK(sizes(std::get<Planned>(result).plan) == std::vector<std::size_t>{2, 2});
    CHECK(std::get<std::int64_t>(detail(std::get<Planned>(result), "passes").value) == (start == "balanced" ? 1 : 2));
  }
}

TEST_CASE("vpipe: a stage on a slower device gets fewer layers") {
  // Twelve layers of 3 s on devices of speeds 1, 1/2 and 1: 5, 2 and 5 layers take 15, 12 and 15 s.
  PlatformSpec spec = flat_platform(3, 1e6).spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 0.5, Bytes(0), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  const PlanResult result = plan_with(chain(std::vector<double>(12, 1.0)), build_platform(spec));
  CHECK(sizes(std::get<Planned>(result).plan) == std::vector<std::size_t>{5, 2, 5});
}

TEST_CASE("vpipe: repeated units are planned once") {
  const PlanResult result = plan_with(chain_of_v3(), flat_platform(4, 1e6, Bytes(95'040)));
  const auto& planned = std::get<Planned>(result);
  const auto count = [&](const char* name) { return std::get<std::int64_t>(detail(planned, name).value); };
  CHECK(count("cache_hits") > count("stage_evaluations") / 2);
}

// From the cuts that run alone, moves that first of all lack less memory end far from balance in some of them.
TEST_CASE("vpipe: if the plan that runs does not fit, the answer is no slower than without it") {
  int planned = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const LayerGraph graph = varied_chain(seed, 14);
    const Platform ample = flat_platform(4, 1e6);
    const Platform small = flat_platform(4, 1e6, Bytes(largest_need(vpipe(), graph, 4, "pipedream") * 3 / 4));
    PlanResult start = plan_with(graph, ample);
    Plan running = std::get<Planned>(start).plan;
    std::size_t layer = 0;
    for (std::size_t s = 0; s < running.stages.size(); ++s) {  // all but three of the layers are on the first stage
      running.stages[s].layers.clear();
      running.stages[s].memory.clear();
      const std::size_t end = graph.layers.size() - running.stages.size() + s + 1;
      for (; layer < end; ++layer) running.stages[s].layers.emplace_back(layer);
    }
    PlanRequest request = request_for(vpipe(), graph, small, "pipedream", 64, {{"recompute_style", "per_unit"}});
    const PlanResult fresh = vpipe().plan(request);
    request.running = &running;
    const PlanResult again = vpipe().plan(request);
    REQUIRE(again.index() == fresh.index());
    if (!std::holds_alternative<Planned>(fresh)) continue;
    ++planned;
    const auto slowest = [](const PlanResult& result) {
      return std::get<double>(detail(std::get<Planned>(result), "slowest_stage_s").value);
    };
    CHECK(slowest(again) <= slowest(fresh));
  }
  CHECK(planned > 0);
}

TEST_CASE("vpipe: schedules that place in another way, and models that are too large, are refused") {
  const LayerGraph graph = chain({1, 1, 1, 1});
  for (const std::string schedule : {"interleaved-1f1b", "1f1b-star"}) {
    CHECK_THROWS_AS((void)plan_with(graph, flat_platform(2), schedule), InputError);
  }
  const LayerGraph long_chain = chain(std::vector<double>(30'000, 1e-3));
  CHECK_THROWS_AS((void)plan_with(long_chain, flat_platform(2)), InputError);
}

}  // namespace stagecraft::vpipe_test
