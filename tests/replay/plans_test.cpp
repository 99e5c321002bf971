#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/device_peaks.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::RandomCase;
using testing::straight;

/// A run's figure: the last iteration's time, or the period.
double figure(const Report& report) {
  return report.period ? report.period->value() : report.iterations.back().value();
}

/// Whether two flows are ever under way on one link at once.
bool shares_links(const Platform& platform, const Timeline& timeline) {
  std::map<LinkId, std::vector<std::pair<Seconds, Seconds>>> uses;
  Route route;
  for (const TimelineEntry& entry : timeline) {
    if (!is_transfer(entry.kind) || entry.from == entry.to) continue;
    if (!find_route(platform, entry.from, entry.to, entry.leg, route)) continue;
    for (LinkId link : route.links) uses[link].emplace_back(entry.start, entry.end);
  }
  for (auto& [link, spans] : uses) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) {
      if (spans[i].first < spans[i - 1].second) return true;
    }
  }
  return false;
}

void check_equal(const Report& replayed, const Report& evaluated) {
  CHECK(figure(replayed) == doctest::Approx(figure(evaluated)).epsilon(1e-9));
  CHECK(replayed.bubble_ratio == doctest::Approx(evaluated.bubble_ratio).epsilon(1e-9));
  CHECK(replayed.operations == evaluated.operations);
  REQUIRE(replayed.devices.size() == evaluated.devices.size());
  for (std::size_t i = 0; i < replayed.devices.size(); ++i) {
    const DeviceReport& a = replayed.devices[i];
    const DeviceReport& b = evaluated.devices[i];
    CHECK(a.busy.value() == doctest::Approx(b.busy.value()).epsilon(1e-9));
    CHECK(a.in_flight_peak == b.in_flight_peak);
    CHECK(a.memory.peak == b.memory.peak);
    CHECK(a.memory.breakdown == b.memory.breakdown);
  }
  REQUIRE(replayed.hosts.size() == evaluated.hosts.size());
  for (std::size_t i = 0; i < replayed.hosts.size(); ++i) {
    CHECK(replayed.hosts[i].memory.peak == evaluated.hosts[i].memory.peak);
  }
}

/// Whether the replay equals the evaluation, as it must where no two flows share a link. It is never faster.
bool runs_as_evaluated(const RandomCase& random, const LowerOptions& options = {}) {
  Timeline timeline;
  const Report evaluated =
      evaluate_plan(random.graph, random.platform, random.plan, options, {}, collect_into(timeline));
  const Report replayed = replay_plan(random.graph, random.platform, random.plan, options).report;
  if (shares_links(random.platform, timeline)) {
    CHECK(figure(replayed) >= figure(evaluated) * (1.0 - 1e-9));
    return false;
  }
  check_equal(replayed, evaluated);
  return true;
}

TEST_CASE("replay: interleaved-1f1b runs as evaluated, in its closed form") {
  for (const std::size_t p : {2U, 4U}) {
    Plan plan = straight(2 * p, static_cast<std::int64_t>(2 * p), "interleaved-1f1b");
    for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].replicas = {DeviceId(s % p)};
    const LayerGraph graph = chain(2 * p, 1, 2);
    const Report replayed = replay_plan(graph, pairwise(p), plan).report;
    check_equal(replayed, evaluate_plan(graph, pairwise(p), plan));
    // (m v + p - 1)(f + b) with m = 2 p and v = 2.
    CHECK(figure(replayed) == doctest::Approx(3.0 * static_cast<double>(5 * p - 1)).epsilon(1e-9));
  }
}

TEST_CASE("replay: fixed orders run as evaluated, with replicas, latency, recomputes and divided state") {
  for (const ScheduleFamily* family : testing::fixed_families()) {
    CAPTURE(family->name);
    for (std::uint32_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(seed);
      std::mt19937 random(seed);
      const std::size_t devices = family->even_devices ? 2 + seed % 2 * 2 : 2 + seed % 3;
      const std::size_t replicas = 1 + seed % 2;
      Plan plan =
          testing::fixed_plan({family->name, {}}, devices, static_cast<std::int64_t>(2 * devices * replicas), replicas);
      LayerGraph graph = chain(testing::layers_of(plan), 1, 2, 0, 1000, 100);
      for (Layer& layer : graph.layers) {
        layer.forward = Seconds(0.25 * static_cast<double>(1 + random() % 8));
        layer.backward_weight = Seconds(0.25 * static_cast<double>(random() % 8));
        layer.backward = layer.backward_weight + Seconds(0.25 * static_cast<double>(1 + random() % 8));
        layer.workspace = Bytes(static_cast<std::int64_t>(random() % 100));
      }
      if (seed % 3 == 0) plan.stages[0].memory = {Recompute{plan.stages[0].layers}};
      plan.training.input_gradient_release = 0.25 * static_cast<double>(seed % 4);
      // Neither pairs nor several pipelines can gather weights.
      const bool gathers = !family->even_devices && family->name != "dualpipe-v";
      plan.training.zero = static_cast<std::int64_t>(seed % (gathers ? 4 : 3));
      plan.training.gradient_bucket = Bytes(100);
      const Platform platform = pairwise(devices * replicas, 1000.0, 0.125);
      LowerOptions options;
      options.iterations = 2;
      const Report replayed = replay_plan(graph, platform, plan, options).report;
      const Report evaluated = evaluate_plan(graph, platform, plan, options);
      // Replicas exchange gradients of all stages of a device over the same links.
      const bool has_one_ring = plan.stages.size() == devices || (replicas == 1 && !family->even_devices);
      if (has_one_ring) check_equal(replayed, evaluated);
      CHECK(figure(replayed) >= figure(evaluated) * (1 - 1e-9));
      const auto peaks = device_peaks(graph, require_schedule(graph, platform, plan));
      REQUIRE(peaks);
      for (std::size_t d = 0; d < peaks->size(); ++d) CHECK((*peaks)[d].second == replayed.devices[d].memory.peak);
    }
  }
}

TEST_CASE("replay: gpipe and 1f1b take (m + p - 1)(f + b) without transfer cost, 60 listed pairs") {
  const double f = 0.0123;
  const double b = 0.0271;
  for (std::int64_t p : {1, 2, 3, 4, 5, 6, 7, 8, 16, 32}) {
    for (std::int64_t m : {std::int64_t{1}, std::int64_t{3}, p, p + 1, std::int64_t{32}, std::int64_t{64}}) {
      CAPTURE(p);
      CAPTURE(m);
      const auto stages = static_cast<std::size_t>(p);
      const Plan plan = straight(stages, m, m % 2 == 0 ? "gpipe" : "1f1b");
      const Report report = replay_plan(chain(stages, f, b), pairwise(stages), plan).report;
      CHECK(report.iterations.back().value() ==
            doctest::Approx(static_cast<double>(m + p - 1) * (f + b)).epsilon(1e-12));
    }
  }
}

TEST_CASE("replay: equals evaluate to 1e-9 where no two flows share a link, and is never faster, seeds 1 to 200") {
  int equal = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const RandomCase random = random_case(seed, {Sharing::Fair, true, true, seed % 4 == 0 ? 1.0 : 0.01});
    CAPTURE(seed);
    if (runs_as_evaluated(random)) ++equal;
  }
  CHECK(equal >= 120);  // most of these plans: the random sizes are chosen so
}

TEST_CASE("replay: equals evaluate where no flows meet and replicas divide their state, seeds 1 to 150") {
  int equal = 0;
  for (std::uint32_t seed = 1; seed <= 150; ++seed) {
    RandomCase random = random_case(seed, {Sharing::Fair, true, true, 0.01});
    if (random.plan.schedule.name == "pipedream") random.plan.schedule.name = "1f1b";
    for (Layer& layer : random.graph.layers) layer.parameters = layer.parameters * 400'000;
    CAPTURE(seed);
    for (std::int64_t zero = 1; zero <= 3; ++zero) {
      CAPTURE(zero);
      if (zero == 3 && !testing::run_together(random.plan)) continue;
      random.plan.training.zero = zero;
      LowerOptions options;
      options.iterations = 2;
      if (runs_as_evaluated(random, options)) ++equal;
    }
  }
  CHECK(equal >= 150);
}

TEST_CASE("replay: equals evaluate where no flows meet on their way through host memory, seeds 1 to 120") {
  int equal = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    RandomCase random = random_case(seed, {Sharing::Fair, true, seed % 2 == 0, 0.01});
    CAPTURE(seed);
    PlatformSpec spec = random.platform.spec;
    spec.transport = Transport::Host;
    random.platform = build_platform(std::move(spec));
    if (runs_as_evaluated(random)) ++equal;
  }
  CHECK(equal >= 40);
}

TEST_CASE("replay: equals evaluate where no flows meet while weight versions move, seeds 1 to 80") {
  int equal = 0;
  for (std::uint32_t seed = 1; seed <= 80; ++seed) {
    RandomCase random = random_case(seed, {Sharing::Fair, true, seed % 2 == 0, 0.01});
    CAPTURE(seed);
    random.plan.schedule.name = "pipedream";
    for (Stage& stage : random.plan.stages) stage.swap_weight_versions = true;
    random.plan.microbatches = std::max<std::int64_t>(30, testing::least_length(random.plan));
    if (runs_as_evaluated(random)) ++equal;
  }
  CHECK(equal >= 20);
}

TEST_CASE("replay: equals evaluate to 1e-9 on exclusive links, seeds 201 to 300") {
  for (std::uint32_t seed = 201; seed <= 300; ++seed) {
    const RandomCase random = random_case(seed, {Sharing::Exclusive, true, true, 1.0});
    CAPTURE(seed);
    check_equal(replay_plan(random.graph, random.platform, random.plan).report,
                evaluate_plan(random.graph, random.platform, random.plan));
  }
}

TEST_CASE("replay: equals evaluate to 1e-9 on the analytic network, seeds 301 to 340") {
  for (std::uint32_t seed = 301; seed <= 340; ++seed) {
    const RandomCase random = random_case(seed, {Sharing::Fair, true, false, 1.0});
    LowerOptions options;
    options.network = NetworkModel::Analytic;
    CAPTURE(seed);
    check_equal(replay_plan(random.graph, random.platform, random.plan, options).report,
                evaluate_plan(random.graph, random.platform, random.plan, options));
  }
}

TEST_CASE("replay: on a shared switch with fixed orders it is never faster than evaluate, seeds 1 to 60") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    RandomCase random = random_case(seed, {Sharing::Fair, true, false, 1.0});
    CAPTURE(seed);
    NodeForm form;
    NodeKind node{"node",
                  DeviceKindId(0),
                  2,
                  Interconnect{SwitchedNode{}, {BytesPerSecond(1e9), Seconds(0.001)}},
                  std::nullopt,
                  NicSpec{{BytesPerSecond(2e8), Seconds(0.002)}, false}};
    form.node_kinds.push_back(node);
    form.groups = {{NodeKindId(0), 3}};
    PlatformSpec spec = random.platform.spec;
    spec.form = form;
    const Platform platform = build_platform(std::move(spec));
    const Report evaluated = evaluate_plan(random.graph, platform, random.plan);
    const Report replayed = replay_plan(random.graph, platform, random.plan).report;
    CHECK(figure(replayed) >= figure(evaluated) * (1.0 - 1e-9));
  }
}

}  // namespace
}  // namespace stagecraft
