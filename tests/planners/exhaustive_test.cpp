#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/planners/fixtures.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/shared_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <random>

namespace stagecraft::exhaustive_test {

using namespace stagecraft::testing;

namespace {

using Given = std::vector<std::pair<std::string, std::string>>;

const PlannerInfo& exhaustive() { return find_planner("exhaustive"); }

PlanRequest request_for(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform,
                        const std::string& schedule, const Given& options = {}, std::int64_t microbatches = 6) {
  return {graph, platform, {schedule, {}}, microbatches, {}, parse_options(planner, options)};
}

const Planned& planned(const PlanResult& result) {
  REQUIRE(std::holds_alternative<Planned>(result));
  return std::get<Planned>(result);
}

double number(const Detail::Record& record, const std::string& name) {
  return std::get<double>(entry(record, name).value);
}
std::int64_t count(const Detail::Record& record, const std::string& name) {
  return std::get<std::int64_t>(entry(record, name).value);
}

double evaluated_time(const LayerGraph& graph, const Platform& platform, Plan plan) {
  plan.microbatches = std::max(plan.microbatches, testing::least_length(plan));
  const Figures figures = evaluate_plan(graph, platform, plan).figures();
  return (figures.period ? *figures.period : *figures.iteration_time).value();
}

/// A chain with a few edges that skip layers, costs of its own in every layer; memory such that some plans do not fit.
struct Instance {
  LayerGraph graph;
  Platform platform;
};
Instance random_instance(unsigned seed, std::int64_t microbatch_size = 4) {
  std::mt19937 random(seed);
  const auto up_to = [&](unsigned most) { return static_cast<std::int64_t>(random() % most); };
  std::vector<double> times(3 + random() % 4);
  for (double& time : times) time = 0.5 + static_cast<double>(up_to(8));
  LayerGraph graph = chain(times);
  graph.microbatch_size = microbatch_size;
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(100 * up_to(6));
    layer.stash = layer.checkpoint = Bytes(50 * up_to(6));
  }
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(10 * up_to(20));
  if (random() % 2 == 0) graph.edges.push_back({LayerId(0), LayerId(graph.layers.size() - 1), Bytes(10 * up_to(20))});
  if (seed % 2 == 0) share_tensors(graph, seed, 50);
  const std::size_t devices = 1 + random() % 4;
  PlatformSpec spec = flat_platform(devices, 50.0, Bytes(2000 + 500 * up_to(9))).spec;
  spec.device_kinds.push_back({"B", Bytes(2500 + 500 * up_to(9)), 0.5, Bytes(100), std::nullopt});
  auto& form = std::get<ExplicitForm>(spec.form);
  for (ExplicitDevice& device : form.devices) device.kind = DeviceKindId(random() % 2);
  return {std::move(graph), build_platform(spec)};
}

struct Best {
  double time = std::numeric_limits<double>::infinity();
  std::size_t plans = 0;
  std::size_t fitting = 0;
  Bytes least_memory{std::numeric_limits<std::int64_t>::max()};
};

/// All plans, formulated otherwise than in the planner: cuts are the bits of a number, replica counts an odometer, and
/// divided stages the bits of another number.
Best brute_force(const PlanRequest& request, bool alternate, bool divide) {
  Best best;
  const std::size_t layers = request.graph.layers.size();
  const std::size_t devices = request.platform.devices.size();
  for (std::size_t cuts = 0; cuts < std::size_t{1} << (layers - 1); ++cuts) {
    const auto stages = static_cast<std::size_t>(std::popcount(cuts)) + 1;
    std::vector<std::size_t> replicas(stages, 1);
    for (;;) {
      std::size_t used = 0;
      for (std::size_t count : replicas) used += count;
      for (std::size_t divided = 0; used <= devices && divided < std::size_t{1} << stages; ++divided) {
        Plan plan;
        plan.microbatch_size = request.graph.microbatch_size;
        plan.microbatches = request.microbatches;
        plan.schedule = request.schedule;
        plan.training = request.training;
        plan.stages.resize(stages);
        std::size_t stage = 0;
        for (std::size_t layer = 0; layer < layers; ++layer) {
          plan.stages[stage].layers.emplace_back(layer);
          stage += (cuts >> layer) & 1U;
        }
        std::size_t device = 0;
        bool in_space = true;
        for (std::size_t s = 0; s < stages; ++s) {
          const bool split = ((divided >> s) & 1U) != 0;
          for (std::size_t r = 0; r < replicas[s]; ++r) plan.stages[s].replicas.emplace_back(DeviceId(device++));
          if (split) plan.stages[s].replication = Replication::Split;
          if (replicas[s] == 1) in_space = in_space && !split;
          if (replicas[s] > 1) in_space = in_space && (split ? divide : alternate);
          if (split) in_space = in_space && static_cast<std::int64_t>(replicas[s]) <= plan.microbatch_size;
        }
        if (!in_space) continue;
        ++best.plans;
        Bytes needed{0};
        for (const auto& [where, peak] :
             ledger_peaks(request.graph, request.platform, require_schedule(request.graph, request.platform, plan))) {
          const DeviceKind& kind = request.platform.kind(where);
          if (peak + kind.reserved > kind.memory) needed = std::max(needed, peak + kind.reserved);
        }
        best.least_memory = std::min(best.least_memory, needed);
        if (needed > Bytes(0)) continue;
        ++best.fitting;
        best.time = std::min(best.time, evaluated_time(request.graph, request.platform, plan));
      }
      std::size_t digit = 0;
      while (digit < stages && ++replicas[digit] > devices) replicas[digit++] = 1;
      if (digit == stages) break;
    }
  }
  return best;
}

Platform more_memory(const Platform& platform, Bytes more) {
  PlatformSpec spec = platform.spec;
  for (DeviceKind& kind : spec.device_kinds) kind.memory += more;
  return build_platform(spec);
}

}  // namespace

TEST_CASE("exhaustive: equals a brute force of another formulation on 60 random graphs, schedules and replications") {
  std::size_t infeasible = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Instance instance = random_instance(seed);
    const char* const schedule = std::vector{"1f1b", "gpipe", "pipedream"}[seed % 3];
    const char* const replication = std::vector{"round-robin", "split", "either"}[seed / 3 % 3];
    const PlanRequest request = request_for(exhaustive(), instance.graph, instance.platform, schedule,
                                            {{"replication", replication}, {"prune", "false"}});
    const Best best =
        brute_force(request, replication != std::string("split"), replication != std::string("round-robin"));
    const PlanResult result = exhaustive().plan(request);
    if (best.fitting == 0) {
      ++infeasible;
      REQUIRE(std::holds_alternative<Infeasible>(result));
      CHECK(std::get<Infeasible>(result).smallest_memory == best.least_memory);
      continue;
    }
    const Planned& answer = planned(result);
    CHECK(count(answer.details, "candidates") == static_cast<std::int64_t>(best.plans));
    CHECK(count(answer.details, "judged") == static_cast<std::int64_t>(best.fitting));
    CHECK(number(answer.details, "objective_s") == doctest::Approx(best.time).epsilon(1e-8));
    CHECK(evaluated_time(instance.graph, instance.platform, answer.plan) == doctest::Approx(best.time).epsilon(1e-8));
  }
  CHECK(infeasible > 2);
  CHECK(infeasible < 30);
}

TEST_CASE("exhaustive: skipping plans changes neither the plan nor the runner-up nor what an infeasible answer says") {
  std::int64_t skipped = 0;
  for (unsigned seed = 1; seed <= 90; ++seed) {
    CAPTURE(seed);
    const Instance instance = random_instance(seed);
    const char* const schedule = std::vector{"1f1b", "gpipe", "pipedream"}[seed % 3];
    const char* const objective = seed % 2 == 0 ? "evaluated" : "predicted";
    const auto answer = [&](const char* prune) {
      return exhaustive().plan(request_for(exhaustive(), instance.graph, instance.platform, schedule,
                                           {{"replication", "either"}, {"objective", objective}, {"prune", prune}}));
    };
    const PlanResult pruned = answer("true");
    const PlanResult whole = answer("false");
    REQUIRE(pruned.index() == whole.index());
    if (const auto* none = std::get_if<Infeasible>(&pruned)) {
      CHECK(none->reason == std::get<Infeasible>(whole).reason);
      CHECK(none->excess == std::get<Infeasible>(whole).excess);
      CHECK(none->smallest_memory == std::get<Infeasible>(whole).smallest_memory);
      continue;
    }
    const Detail::Record& details = planned(pruned).details;
    CHECK(planned(pruned).plan == planned(whole).plan);
    CHECK(entry(details, "runner_up") == entry(planned(whole).details, "runner_up"));
    CHECK(count(details, "judged") + count(details, "too_slow") + count(details, "too_large") +
              count(details, "not_applicable") ==
          count(details, "candidates"));
    skipped += count(details, "too_slow");
  }
  CHECK(skipped > 100);
}

TEST_CASE("exhaustive: never worse than planners whose plans are in its space") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Instance instance = random_instance(seed);
    const std::string schedule = seed % 2 == 0 ? "1f1b" : "pipedream";
    const PlanResult result = exhaustive().plan(request_for(exhaustive(), instance.graph, instance.platform, schedule));
    for (const char* name : {"uniform", "data-parallel", "pipedream"}) {
      CAPTURE(name);
      const PlannerInfo& other = find_planner(name);
      const PlanResult theirs = other.plan(request_for(other, instance.graph, instance.platform, schedule));
      if (!std::holds_alternative<Planned>(theirs)) continue;
      const Plan& plan = std::get<Planned>(theirs).plan;
      const double mine = number(planned(result).details, "objective_s");
      CHECK(mine <= evaluated_time(instance.graph, instance.platform, plan) * (1 + 1e-8));
    }
  }
}

TEST_CASE("exhaustive: more memory never hurts, and scaled times scale the answer") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Instance instance = random_instance(seed);
    const auto time = [](const LayerGraph& graph, const Platform& platform) {
      const PlanResult result = exhaustive().plan(request_for(exhaustive(), graph, platform, "1f1b"));
      return std::holds_alternative<Planned>(result) ? number(planned(result).details, "objective_s")
                                                     : std::numeric_limits<double>::infinity();
    };
    const double here = time(instance.graph, instance.platform);
    double before = here;
    for (const std::int64_t more : {300, 900, 2700}) {
      const double now = time(instance.graph, more_memory(instance.platform, Bytes(more)));
      CHECK(now <= before * (1 + 1e-8));
      before = now;
    }
    LayerGraph slower = instance.graph;
    for (Layer& layer : slower.layers) {
      layer.forward = layer.forward * 3.0;
      layer.backward = layer.backward * 3.0;
      layer.backward_weight = layer.backward_weight * 3.0;
    }
    PlatformSpec spec = instance.platform.spec;
    auto& link = *std::get<ExplicitForm>(spec.form).default_link;
    link.bandwidth = link.bandwidth / 3.0;
    if (here < std::numeric_limits<double>::infinity()) {
      CHECK(time(slower, build_platform(spec)) == doctest::Approx(3 * here).epsilon(1e-8));
    }
  }
}

TEST_CASE("exhaustive: the memory that an infeasible answer names is enough, and one byte less is not") {
  std::size_t seen = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Instance instance = random_instance(seed);
    const auto plan = [&](const Platform& platform) {
      return exhaustive().plan(request_for(exhaustive(), instance.graph, platform, "pipedream"));
    };
    const PlanResult result = plan(instance.platform);
    const auto* none = std::get_if<Infeasible>(&result);
    if (none == nullptr) continue;
    ++seen;
    CHECK(std::holds_alternative<Planned>(plan(with_memory(instance.platform, *none->smallest_memory))));
    CHECK(std::holds_alternative<Infeasible>(plan(with_memory(instance.platform, *none->smallest_memory - Bytes(1)))));
  }
  CHECK(seen > 3);
}

TEST_CASE("exhaustive: of equal plans the one with fewer stages and devices is taken, then the one with earlier cuts") {
  // One microbatch and boundaries of 0 bytes: however the chain is cut, 9 s; replicas add their all-reduce.
  LayerGraph graph = chain({1, 1, 1});
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(0);
  const Platform three = flat_platform(3);
  const Plan alone = planned(exhaustive().plan(request_for(exhaustive(), graph, three, "1f1b", {}, 1))).plan;
  REQUIRE(alone.stages.size() == 1);
  CHECK(alone.stages[0].replicas.size() == 1);
  // On exactly two devices, [l0][l1 l2] and [l0 l1][l2] tie, and both replicas of the whole would take longer.
  const Platform two = flat_platform(2);
  const Given all = {{"use_fewer", "false"}};
  const Plan cut = planned(exhaustive().plan(request_for(exhaustive(), graph, two, "1f1b", all, 1))).plan;
  REQUIRE(cut.stages.size() == 2);
  CHECK(cut.stages[0].layers.size() == 1);
}

TEST_CASE("exhaustive: a space above the limit is refused with its size") {
  // C(8 - 1 + 4, 4 - 1) = C(11, 3) = 165 plans of 8 layers on up to 4 devices.
  const LayerGraph graph = chain(std::vector<double>(8, 1.0));
  const Platform platform = flat_platform(4);
  CHECK_THROWS_WITH_AS(
      (void)exhaustive().plan(request_for(exhaustive(), graph, platform, "1f1b", {{"max_candidates", "164"}})),
      doctest::Contains(
          "the search of 8 layers on 4 devices would take 165 plans, more than 164 (option max_candidates)"),
      InputError);
  CHECK(
      count(planned(exhaustive().plan(request_for(exhaustive(), graph, platform, "1f1b", {{"max_candidates", "165"}})))
                .details,
            "candidates") == 165);
}

TEST_CASE("exhaustive: a space too large for a number is refused, without counting it to the end") {
  const LayerGraph graph = chain(std::vector<double>(300, 1.0));
  const Platform platform = flat_platform(256);
  CHECK_THROWS_WITH_AS(
      (void)exhaustive().plan(
          request_for(exhaustive(), graph, platform, "1f1b", {{"max_candidates", "1000000000000"}})),
      doctest::Contains(
          "the search of 300 layers on 256 devices would take more than 1e15 plans, more than 1000000000000 "),
      InputError);
}

TEST_CASE("exhaustive: the claim is worked out by hand") {
  // Two layers, F = 1 and 3, B = 2 and 6, and m = 8. Three replicas of the whole: ⌈8 / 3⌉ rounds of 12 s and an
  // all-reduce of 2 · 2/3 · 200 B over 100 B/s, 38.67 s, which is least. Two stages, of 1 and 2 replicas: max(8 · 3, 4
  // · 9) + 9 s and an all-reduce of 2 · 1/2 · 100 B over 100 B/s, 46 s. Two replicas of the whole take 4 · 12 + 2 s,
  // one 96 s.
  const LayerGraph graph = chain({1, 3});
  const Platform platform = flat_platform(3);
  const Planned best = planned(exhaustive().plan(
      request_for(exhaustive(), graph, platform, "1f1b", {{"objective", "predicted"}, {"prune", "false"}}, 8)));
  CHECK(best.plan.predicted.iteration_time->value() == doctest::Approx(36.0 + 8.0 / 3.0).epsilon(1e-12));
  const auto& runner_up = std::get<Detail::Record>(entry(best.details, "runner_up").value);
  CHECK(std::get<double>(entry(runner_up, "time_s").value) == doctest::Approx(46.0).epsilon(1e-12));
}

}  // namespace stagecraft::exhaustive_test
