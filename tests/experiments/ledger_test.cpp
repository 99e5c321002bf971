// The planners' ledger against runs: what a planner holds a plan to need is what a replay then shows.
#include "planners/shared/costs/cost_model.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/own_profiles.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/random_plans.hpp"
#include "tests/schedule/some_microbatches.hpp"
#include "tests/shared_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <variant>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::RandomCase;
using testing::RandomCaseOptions;
using testing::straight;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

std::vector<std::pair<DeviceId, Bytes>> planned(const RandomCase& random) {
  const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
  return ledger_peaks(random.graph, random.platform, program);
}

std::vector<std::pair<DeviceId, Bytes>> replayed(const RandomCase& random) {
  std::vector<std::pair<DeviceId, Bytes>> peaks;
  for (const DeviceReport& device : replay_plan(random.graph, random.platform, random.plan).report.devices) {
    peaks.emplace_back(device.device, device.memory.peak);
  }
  return peaks;
}

bool swaps(const Plan& plan) {
  return std::ranges::any_of(plan.stages, [](const Stage& stage) { return !actions_of<Swap>(stage).empty(); });
}

/// Moves the last stage of one replica to the first device, which then holds two stages.
void share_a_device(Plan& plan) {
  if (plan.stages.size() < 2 || plan.stages.back().replicas.size() > 1) return;
  plan.stages.back().replicas = {plan.stages.front().replicas.front()};
}

}  // namespace

TEST_CASE("ledger: equals the replay to the byte on random plans with recompute and swap") {
  int swapping = 0;
  int shared = 0;
  int uneven = 0;
  int some = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(1000U); ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(seed);
    if (seed % 2 == 0) testing::share_tensors(random.graph, seed, 100'000);
    if (seed % 5 == 0) share_a_device(random.plan);
    if (seed % 3 == 0 && testing::cover_some(random.plan, seed)) ++some;
    const Replicas replicas(random.plan);
    swapping += swaps(random.plan) ? 1 : 0;
    shared += share_devices(replicas) ? 1 : 0;
    uneven += random.plan.microbatches % round_of(replicas) != 0 ? 1 : 0;
    CHECK(planned(random) == replayed(random));
  }
  // All that the ledger could get wrong is among them.
  CHECK(swapping > testing::random_cases(100));
  CHECK(shared > testing::random_cases(50));
  CHECK(uneven > testing::random_cases(50));
  CHECK(some > testing::random_cases(50));
}

TEST_CASE("ledger: equals the replay where every kind and size has figures of its own") {
  int both_kinds = 0;
  int parts = 0;
  int matters = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(300U); ++seed) {
    CAPTURE(seed);
    RandomCase random = random_case(seed);
    if (seed % 2 == 0) testing::share_tensors(random.graph, seed, 100'000);
    if (seed % 5 == 0) share_a_device(random.plan);
    const auto in_proportion = planned(random);
    testing::give_own_profiles(random.graph, seed);
    random.platform = testing::with_second_kind(random.platform, random.graph, seed);
    for (const Stage& stage : random.plan.stages) {
      const auto kind = [&](const Group& group) { return random.platform.devices[group.lead()].kind; };
      const auto differs = [&](const Group& group) { return kind(group) != kind(stage.replicas.front()); };
      both_kinds += std::ranges::any_of(stage.replicas, differs) ? 1 : 0;
      parts += stage.replication == Replication::Split && stage.replicas.size() > 1 ? 1 : 0;
    }
    const auto own = planned(random);
    CHECK(own == replayed(random));
    matters += own != in_proportion ? 1 : 0;
  }
  CHECK(both_kinds > testing::random_cases(50));
  CHECK(parts >= testing::random_cases(10));
  CHECK(matters > testing::random_cases(200));
}

TEST_CASE("ledger: a swapped stash counts while it is on the device, so a plan that runs is not refused") {
  // Two stages whose stash of 512 MiB is swapped, gpipe, 8 microbatches: 16 stashes would be 4 GiB a device. A forward
  // and a backward take 1 s and 2 s, a copy 512 MiB at 2 GiB/s 0.25 s. While a forward runs its own stash and the one
  // on its way out are there; between forwards and backwards the first one comes back: at most three.
  const LayerGraph graph = chain(2, 1.0, 2.0, 0, 512 * kMebibyte, 10 * kMebibyte);
  PlatformSpec spec = pairwise(2).spec;
  spec.device_kinds[DeviceKindId(0)].memory = Bytes(1700 * kMebibyte);
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{Bytes(std::int64_t{1} << 40),
                           LinkSpec{BytesPerSecond(2048.0 * static_cast<double>(kMebibyte)), Seconds(0)}, 1};
  }
  const Platform platform = build_platform(std::move(spec));
  Plan plan = straight(2, 8, "gpipe");
  for (Stage& stage : plan.stages) stage.memory = {Swap{stage.layers}};
  const PlanRequest request{.graph = graph,
                            .platform = platform,
                            .schedule = plan.schedule,
                            .microbatches = 8,
                            .training = {},
                            .options = Options({})};
  const PlanResult judged_plan = judged(request, {plan, {}});
  REQUIRE(std::holds_alternative<Planned>(judged_plan));
  const Report run = replay_plan(graph, platform, plan).report;
  CHECK_FALSE(run.out_of_memory());
  // Weights, gradient and two copies of optimizer state are 40 MiB.
  CHECK(run.devices[0].memory.peak <= Bytes((3 * 512 + 40) * kMebibyte));
  CHECK(run.devices[0].memory.peak >= Bytes((2 * 512 + 40) * kMebibyte));
  for (const auto& [device, peak] : std::get<Planned>(judged_plan).plan.predicted.peak_memory) {
    CHECK(peak == run.devices[device.value()].memory.peak);
  }
  // Without the copies the same plan is refused.
  for (Stage& stage : plan.stages) stage.memory.clear();
  CHECK(std::holds_alternative<Infeasible>(judged(request, {plan, {}})));
}

TEST_CASE("ledger: where a device takes what is ready first it says what a run without contention holds") {
  for (std::uint32_t seed = 1; seed <= 100; ++seed) {
    CAPTURE(seed);
    RandomCaseOptions options;
    options.allow_swap = false;
    options.allow_shares = false;
    RandomCase random = random_case(seed, options);
    random.plan.schedule = {"spp-pe", {{"pe_exec", "list"}}};
    for (Stage& stage : random.plan.stages) stage.in_flight.reset();
    const auto claimed = planned(random);
    const auto held = replayed(random);
    REQUIRE(claimed.size() == held.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      CHECK(static_cast<double>(claimed[i].second.value()) <= 1.1 * static_cast<double>(held[i].second.value()));
    }
  }
}

}  // namespace stagecraft
