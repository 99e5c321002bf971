// What planners answer when their plan does not fit as it is: the cheapest memory actions for their cut.
#include "planners/shared/savings/memory_policy.hpp"

#include "planners/registry.hpp"
#include "planners/shared/costs/cost_model.hpp"
#include "planners/shared/savings/saved_cut.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/planners/saving_fixtures.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::memory_policy_test {

using namespace stagecraft::testing;

namespace {

/// The planner's cut for devices with any memory.
Planned cut_of(const PlannerInfo& planner, PlanRequest request) {
  const Platform roomy = with_memory(request.platform, Bytes(std::int64_t{1} << 50));
  return std::get<Planned>(planner.plan(on_platform(request, roomy)));
}

Bytes largest_peak(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  Bytes largest;
  for (const auto& [device, peak] : ledger_peaks(graph, platform, require_schedule(graph, platform, plan))) {
    largest = std::max(largest, peak);
  }
  return largest;
}

/// Of an iteration, or of a microbatch in the long run.
Seconds evaluated_time(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  const Report report = evaluate_until_converged(graph, platform, require_schedule(graph, platform, plan));
  return report.period ? *report.period : report.iterations.back();
}

Plan with_all_recomputed_in_stages(Plan plan) {
  for (Stage& stage : plan.stages) stage.memory = {Recompute{stage.layers}};
  return plan;
}

/// The least time of a stage that recomputes some of its layers in any segments, and fits.
std::optional<Seconds> least_stage_time(const LayerGraph& graph, const Platform& platform, Plan plan, std::size_t s) {
  std::optional<Seconds> least;
  const std::vector<LayerId> layers = plan.stages[s].layers;
  const DeviceId device = plan.stages[s].replicas.front().lead();
  const auto look_at = [&] {
    const Seconds time = stage_time(graph, platform, plan.stages[s]).total();
    if (least && time >= *least) return;
    const auto peaks = ledger_peaks(graph, platform, require_schedule(graph, platform, plan));
    const auto own = std::ranges::find(peaks, device, &std::pair<DeviceId, Bytes>::first);
    if (own->second <= platform.capacity(device)) least = time;
  };
  const std::size_t choices = std::size_t{1} << layers.size();
  for (std::size_t chosen = 0; chosen < choices; ++chosen) {
    for (std::size_t joined = 0; joined < choices; ++joined) {  // those that are in a segment with the layer before
      if ((joined & ~(chosen & (chosen << 1U))) != 0) continue;
      std::vector<Recompute> segments;
      for (std::size_t i = 0; i < layers.size(); ++i) {
        if ((chosen >> i & 1U) == 0) continue;
        if ((joined >> i & 1U) == 0) segments.emplace_back();
        segments.back().layers.push_back(layers[i]);
      }
      plan.stages[s].memory.assign(segments.begin(), segments.end());
      look_at();
    }
  }
  return least;
}

/// Whether some recomputed layers of the stage could be kept for one microbatch more.
bool has_room_for_another(const LayerGraph& graph, const Platform& platform, Plan plan, std::size_t s) {
  const std::int64_t in_flight = require_schedule(graph, platform, plan).in_flight[s];
  for (MemoryAction& action : plan.stages[s].memory) {
    Covered& covered = std::get<Recompute>(action).covered;
    const Covered before = covered;
    const std::int64_t recomputed = covered.all() ? in_flight : covered.first;
    if (recomputed == 1) continue;
    covered = {recomputed - 1, in_flight};
    if (fits(graph, platform, plan)) return true;
    covered = before;
  }
  return false;
}

}  // namespace

TEST_CASE("memory policy: a cut gets the cheapest segments to recompute, as trying all of them does, or fewer") {
  std::mt19937 random(1);
  std::size_t saved = 0;
  std::size_t some = 0;
  const std::size_t rounds = random_cases<std::size_t>(150);
  for (std::size_t round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const LayerGraph graph = stashing_chain(random, 7 + random() % 4);
    const std::string schedule = random() % 2 == 0 ? "1f1b" : "gpipe";
    const PlannerInfo& uniform = find_planner("uniform");
    const Platform roomy = flat_platform(3, 1e3);
    const Planned free = cut_of(uniform, request_for(uniform, graph, roomy, schedule, 6));
    const Bytes most = largest_peak(graph, roomy, free.plan);
    const Bytes least = largest_peak(graph, roomy, with_all_recomputed_in_stages(free.plan));
    const Bytes memory =
        least + Bytes(static_cast<std::int64_t>(random() % static_cast<unsigned>((most - least).value() + 1)));
    const Platform platform = flat_platform(3, 1e3, memory);
    PlanRequest request = request_for(uniform, graph, platform, schedule, 6);
    request.memory = MemoryPolicy::Recompute;
    const std::optional<Planned> result = with_savings(request, free);
    REQUIRE(result.has_value());
    const Plan& plan = result->plan;
    CHECK(fits(graph, platform, plan));
    for (std::size_t s = 0; s < plan.stages.size(); ++s) {
      CAPTURE(s);
      const std::optional<Seconds> expected = least_stage_time(graph, platform, free.plan, s);
      REQUIRE(expected.has_value());
      const Seconds time = stage_time(graph, platform, plan.stages[s]).total();
      CHECK(time <= *expected);
      CHECK((time == *expected || !covers_all(plan.stages[s])));
      CHECK_FALSE(has_room_for_another(graph, platform, plan, s));
      saved += plan.stages[s].memory.empty() ? 0 : 1;
      some += covers_all(plan.stages[s]) ? 0 : 1;
    }
  }
  CHECK(saved >= rounds / 5);
  CHECK(some > 0);
}

TEST_CASE("memory policy: the cheapest actions are never slower than recomputing whole stages of the same cut") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const LayerGraph graph = stashing_chain(random, 8 + random() % 20);
    const std::string schedule = random() % 2 == 0 ? "1f1b" : "gpipe";
    const PlannerInfo& uniform = find_planner("uniform");
    const Platform roomy = flat_platform(4, 1e3);
    const Planned free = cut_of(uniform, request_for(uniform, graph, roomy, schedule, 8));
    Plan all = with_all_recomputed_in_stages(free.plan);
    const Bytes memory = largest_peak(graph, roomy, all) + Bytes(static_cast<std::int64_t>(random() % 1000));
    const Platform platform = flat_platform(4, 1e3, memory);
    for (Stage& stage : all.stages) {  // all or nothing: nothing where a stage fits
      Stage kept = stage;
      std::swap(stage.memory, kept.memory);
      stage.memory.clear();
      if (!fits(graph, platform, all)) stage.memory = kept.memory;
    }
    PlanRequest request = request_for(uniform, graph, platform, schedule, 8);
    request.memory = MemoryPolicy::Cheapest;
    const std::optional<Planned> result = with_savings(request, free);
    REQUIRE(result.has_value());
    CHECK(iteration(graph, platform, result->plan) <= iteration(graph, platform, all) * (1.0 + 1e-9));
  }
}

TEST_CASE("memory policy: a plan that memory does not limit is the planner's under every policy") {
  std::mt19937 random(3);
  const LayerGraph graph = stashing_chain(random, 12);
  const Platform platform = flat_platform(4, 1e3);
  for (const char* name : {"uniform", "gpipe", "pipedream", "dapple", "contiguous"}) {
    const PlannerInfo& planner = find_planner(name);
    PlanRequest request = request_for(planner, graph, platform, planner.default_schedule, 16);
    request.memory = MemoryPolicy::Keep;
    const Plan kept = std::get<Planned>(planner.plan(request)).plan;
    for (const MemoryPolicy policy : {MemoryPolicy::Recompute, MemoryPolicy::Swap, MemoryPolicy::Cheapest}) {
      request.memory = policy;
      CHECK(std::get<Planned>(plan_within_memory(planner, request)).plan == kept);
    }
  }
}

TEST_CASE("memory policy: a cut that fits is the answer only if the one for any memory is no faster with actions") {
  std::mt19937 random(12);
  std::size_t gained = 0;
  const std::size_t rounds = draws_all() ? 40 : 16;
  for (std::size_t round = 0; round < rounds; ++round) {
    const LayerGraph graph = stashing_chain(random, 8 + random() % 6);
    const Platform platform = flat_platform(4, 1e3, Bytes(1500 + static_cast<std::int64_t>(random() % 6000)));
    for (const std::string name : {"pipedream", "pipedream-sync"}) {
      CAPTURE(round);
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      PlanRequest request = request_for(planner, graph, platform, planner.default_schedule, 64);
      request.memory = MemoryPolicy::Recompute;
      const std::optional<Planned> saved = with_savings(request, cut_of(planner, request));
      const PlanResult result = plan_within_memory(planner, request);
      if (!saved) continue;
      REQUIRE(std::holds_alternative<Planned>(result));
      const Seconds time = evaluated_time(graph, platform, std::get<Planned>(result).plan);
      CHECK(time <= evaluated_time(graph, platform, saved->plan));
      const PlanResult fitting = planner.plan(request);
      const auto* kept = std::get_if<Planned>(&fitting);
      if (kept == nullptr) continue;
      CHECK(time <= evaluated_time(graph, platform, kept->plan));
      if (time < evaluated_time(graph, platform, kept->plan)) ++gained;
    }
  }
  CHECK(gained > rounds / 8);
}

TEST_CASE("memory policy: what any planner answers is sound, fits, and does only what is allowed") {
  std::mt19937 random(4);
  std::size_t helped = 0;
  std::size_t timed = 0;
  const std::size_t rounds = draws_all() ? 40 : 3;
  for (std::size_t round = 0; round < rounds; ++round) {
    const LayerGraph graph = stashing_chain(random, 8 + random() % 6);
    const Platform platform = swapping_platform(4, Bytes(1500 + static_cast<std::int64_t>(random() % 3000)),
                                                50.0 + static_cast<double>(random() % 200));
    for (const std::string name :
         {"uniform", "gpipe", "data-parallel", "pipedream", "dapple", "hetpipe", "spp", "contiguous", "madpipe"}) {
      CAPTURE(round);
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      PlanRequest request = request_for(planner, graph, platform, planner.default_schedule, 64);
      request.memory = MemoryPolicy::Keep;
      const bool fits_kept = std::holds_alternative<Planned>(planner.plan(request));
      for (const MemoryPolicy policy : {MemoryPolicy::Recompute, MemoryPolicy::Swap, MemoryPolicy::Cheapest}) {
        request.memory = policy;
        const PlanResult result = plan_within_memory(planner, request);
        const auto* planned = std::get_if<Planned>(&result);
        if (planned == nullptr) {
          CHECK_FALSE(fits_kept);
          continue;
        }
        helped += fits_kept ? 0 : 1;
        CHECK(check_plan(graph, platform, planned->plan).empty());
        CHECK(fits(graph, platform, planned->plan));
        if (const auto& pattern = planned->plan.pattern) {  // nothing is earlier than in the pattern
          timed += fits_kept ? 0 : 1;
          CHECK(*planned->plan.predicted.period >= pattern->period);
        }
        for (const Stage& stage : planned->plan.stages) {
          if (policy == MemoryPolicy::Recompute) CHECK(actions_of<Swap>(stage).empty());
          if (policy == MemoryPolicy::Swap) CHECK(actions_of<Recompute>(stage).empty());
        }
      }
    }
  }
  CHECK(helped > rounds * 2);
  CHECK(timed > 0);
}

TEST_CASE("memory policy: where all forwards come first, copies to the host are hidden behind them") {
  constexpr double kForward = 1.0;
  constexpr double kBackward = 2.0;
  constexpr double kCopy = 1.0;
  LayerGraph graph = chain({kForward, kForward});
  for (Layer& layer : graph.layers) {
    layer.backward = Seconds(kBackward);
    layer.stash = Bytes(100);
    layer.checkpoint = Bytes(100);
  }
  const PlannerInfo& gpipe = find_planner("gpipe");
  for (const std::int64_t microbatches : {4, 5, 6}) {
    CAPTURE(microbatches);
    const Platform roomy = flat_platform(2, 1e6);
    const Bytes kept = largest_peak(
        graph, roomy, cut_of(gpipe, request_for(gpipe, graph, roomy, "gpipe", microbatches, {{"replicas", "1"}})).plan);
    const Bytes three_stashes = kept - Bytes(100) * (microbatches - 3);
    const Platform platform = swapping_platform(2, three_stashes, 100.0 / kCopy);
    const PlanRequest request = request_for(gpipe, graph, platform, "gpipe", microbatches, {{"replicas", "1"}});
    const PlanResult result = plan_within_memory(gpipe, request);
    REQUIRE(std::holds_alternative<Planned>(result));
    const Plan& plan = std::get<Planned>(result).plan;
    CHECK(count_swaps(plan) > 0);
    const double filled = static_cast<double>(microbatches + 1) * (kForward + kBackward);
    CHECK(iteration(graph, platform, plan).value() <= filled + 3 * kCopy);
  }
}

TEST_CASE("memory policy: planners that choose actions claim no more time when they may choose both") {
  std::mt19937 random(7);
  std::size_t saved = 0;
  const std::size_t rounds = draws_all() ? 20 : 6;
  for (std::size_t round = 0; round < rounds; ++round) {
    const LayerGraph graph = stashing_chain(random, 8 + random() % 8);
    const Platform platform = swapping_platform(4, Bytes(1500 + static_cast<std::int64_t>(random() % 3000)),
                                                50.0 + static_cast<double>(random() % 200));
    for (const std::string name : {"vpipe", "dawnpiper"}) {
      CAPTURE(round);
      CAPTURE(name);
      const PlannerInfo& planner = find_planner(name);
      PlanRequest request = request_for(planner, graph, platform, "1f1b", 16);
      const PlanResult both = plan_within_memory(planner, request);
      for (const MemoryPolicy policy : {MemoryPolicy::Recompute, MemoryPolicy::Swap}) {
        request.memory = policy;
        CHECK(claimed_time(both) <= claimed_time(plan_within_memory(planner, request)));
      }
      if (const auto* planned = std::get_if<Planned>(&both)) {
        saved += layers_with<Recompute>(planned->plan) + layers_with<Swap>(planned->plan) > 0 ? 1 : 0;
      }
    }
  }
  CHECK(saved > rounds / 2);
}

TEST_CASE("memory policy: a device with several stages gets room for all of them") {
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const LayerGraph graph = stashing_chain(random, 16);
    const PlannerInfo& uniform = find_planner("uniform");
    const Platform roomy = flat_platform(2, 1e3);
    const Planned free =
        cut_of(uniform, request_for(uniform, graph, roomy, "interleaved-1f1b", 8, {{"replicas", "1"}}));
    const Bytes most = largest_peak(graph, roomy, free.plan);
    const Platform platform = flat_platform(2, 1e3, Bytes(most.value() * 3 / 4));
    PlanRequest request = request_for(uniform, graph, platform, "interleaved-1f1b", 8, {{"replicas", "1"}});
    request.memory = MemoryPolicy::Recompute;
    const std::optional<Planned> result = with_savings(request, free);
    REQUIRE(result.has_value());
    CHECK(fits(graph, platform, result->plan));
  }
}

TEST_CASE("memory policy: what the user makes every stage do stays") {
  std::mt19937 random(6);
  const LayerGraph graph = stashing_chain(random, 12);
  const Platform platform = flat_platform(2, 1e3, Bytes(100));
  const PlannerInfo& gpipe = find_planner("gpipe");
  PlanRequest request = request_for(gpipe, graph, platform, "gpipe", 8, {{"recompute", "stage"}});
  request.memory = MemoryPolicy::Cheapest;
  CHECK(std::holds_alternative<Infeasible>(plan_within_memory(gpipe, request)));
}

TEST_CASE("memory policy: the last layer of a stage with one microbatch in flight is kept for nothing") {
  LayerGraph graph = chain(std::vector<double>(4, 0.01));
  for (Layer& layer : graph.layers) {
    layer.parameters = Bytes(0);
    layer.stash = Bytes(200);
    layer.checkpoint = Bytes(20);
  }
  for (const std::string name : {"uniform", "vpipe", "dawnpiper"}) {
    CAPTURE(name);
    const PlannerInfo& planner = find_planner(name);
    const auto kept_with = [&](std::int64_t memory) {
      const Platform platform = flat_platform(1, 1e3, Bytes(memory));
      PlanRequest request = request_for(planner, graph, platform, "1f1b", 4);
      request.memory = MemoryPolicy::Recompute;
      const Planned planned = std::get<Planned>(plan_within_memory(planner, request));
      CHECK(fits(graph, platform, planned.plan));
      return 4 - layers_with<Recompute>(planned.plan);
    };
    CHECK(kept_with(260) == 1);  // three checkpoints, and the last stash or what is made again
    CHECK(kept_with(419) == 1);
    CHECK(kept_with(420) == 2);  // one checkpoint, and two stashes, in whose place others are made again
    CHECK(kept_with(800) == 4);
  }
}

TEST_CASE("memory policy: a planner that takes all devices for equally fast says so, where they are not") {
  const LayerGraph graph = chain(std::vector<double>(12, 0.03));
  const Platform equal = flat_platform(3, 1e6);
  PlatformSpec spec = equal.spec;
  spec.device_kinds.push_back({"B", Bytes(1'000'000), 4.0, Bytes(0), std::nullopt});
  std::get<ExplicitForm>(spec.form).devices[DeviceId(2)].kind = DeviceKindId(1);
  const Platform unequal = build_platform(spec);
  const auto says_so = [](const Planned& planned) {
    return std::ranges::any_of(planned.notes, [](const std::string& note) {
      return note.find("as fast as the slowest one, gpu0; others are up to 4 times as fast") != std::string::npos;
    });
  };
  for (const PlannerInfo* planner : all_planners()) {
    if (planner->only_by_name || planner->name == "hetpipe") continue;
    CAPTURE(planner->name);
    const auto planned_on = [&](const Platform& platform) {
      return std::get<Planned>(
          plan_within_memory(*planner, request_for(*planner, graph, platform, planner->default_schedule, 12)));
    };
    const Planned on_equal = planned_on(equal);
    const Planned on_unequal = planned_on(unequal);
    CHECK_FALSE(says_so(on_equal));
    CHECK(says_so(on_unequal) == planner->levels_devices);
    if (planner->levels_devices) CHECK(on_unequal.plan.stages == on_equal.plan.stages);
  }
}

}  // namespace stagecraft::memory_policy_test
