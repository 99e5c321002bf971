// Memory actions that cover only some microbatches, against closed forms.
#include "tests/schedule/some_microbatches.hpp"

#include "tests/analytic/bound_and_peaks.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

constexpr std::int64_t kStash = 100;

/// Two stages, 10 s and 20 s. The first recomputes `covered` of its microbatches.
Plan two_stages(const char* schedule, std::int64_t microbatches, Covered covered) {
  Plan plan = straight(2, microbatches, schedule);
  plan.stages[0].memory = {Recompute{{LayerId(0)}, covered}};
  return plan;
}

Report report_of(const Plan& plan) { return evaluate_plan(chain(2, 10.0, 20.0, 0, kStash), pairwise(2), plan); }

}  // namespace

// The backwards of gpipe run from the first microbatch to the last. The first gradient arrives at 70 s; then the first
// stage takes 20 s for a microbatch that it keeps, and 30 s for one that it recomputes.
TEST_CASE("some microbatches: gpipe that leaves out the last one saves one recomputation") {
  CHECK(report_of(two_stages("gpipe", 4, {})).iterations.back() == Seconds(190));
  for (std::int64_t covered = 1; covered < 4; ++covered) {
    CAPTURE(covered);
    const Report report = report_of(two_stages("gpipe", 4, {covered, 4}));
    CHECK(report.iterations.back() ==
          Seconds(70.0 + 20.0 * static_cast<double>(4 - covered) + 30.0 * static_cast<double>(covered)));
    // Those that it keeps, and the one that it makes again.
    CHECK(report.devices[0].memory.peak == Bytes(kStash * (4 - covered + 1)));
  }
}

TEST_CASE("some microbatches: a range may begin behind others") {
  for (std::int64_t from = 0; from < 4; ++from) {
    CAPTURE(from);
    const Report report = report_of(two_stages("gpipe", 4, {1, 4, from}));
    CHECK(report.iterations.back() == Seconds(70.0 + 3 * 20.0 + 30.0));
    // The first microbatch is made again while no other has been freed.
    CHECK(report.devices[0].memory.peak == Bytes(kStash * (from == 0 ? 4 : 3)));
  }
}

// The first stage of 1F1B is the slowest one: it is busy from its first forward to its last backward. Keeping k of n
// takes f + b + f (n - k) / n a microbatch.
TEST_CASE("some microbatches: a stage of 1f1b takes the mean of its microbatches") {
  for (std::int64_t of = 2; of <= 5; ++of) {
    for (std::int64_t covered = 1; covered <= of; ++covered) {
      CAPTURE(of);
      CAPTURE(covered);
      const double rounds = 60;
      const Report report = report_of(two_stages("1f1b", static_cast<std::int64_t>(rounds) * of, {covered, of}));
      const double busy = rounds * (30.0 * static_cast<double>(of) + 10.0 * static_cast<double>(covered));
      CHECK(report.devices[0].busy.value() == doctest::Approx(busy).epsilon(1e-12));
      CHECK(report.iterations.back().value() <= busy + 30.0);
      CHECK(report.iterations.back().value() >= busy);
    }
  }
}

TEST_CASE("some microbatches: replicas count their own microbatches, anew in each iteration") {
  Plan plan = two_stages("gpipe", 6, {1, 3});
  plan.stages[0].replicas = {DeviceId(0), DeviceId(2)};  // each runs three microbatches and recomputes its first one
  const Report report = evaluate_plan(chain(2, 10.0, 20.0, 0, kStash), pairwise(3), plan);
  for (const DeviceReport& device : report.devices) {
    if (device.device != DeviceId(1)) CHECK(device.time.recompute == Seconds(10));
  }
}

// A copy takes 1 s in each direction and comes back when its backward is next. The first one hides behind the wait for
// the gradient; each other backward of a swapped microbatch waits 1 s.
TEST_CASE("some microbatches: a swap leaves other microbatches on the device") {
  PlatformSpec spec = pairwise(2).spec;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host = HostSpec{Bytes(1'000'000), LinkSpec{BytesPerSecond(kStash), Seconds(0)}, 1};
  }
  const Platform platform = build_platform(std::move(spec));
  const LayerGraph graph = chain(2, 10.0, 20.0, 0, kStash);
  Plan plan = straight(2, 4, "gpipe");
  plan.stages[0].memory = {Swap{{LayerId(0)}, false, {2, 4}}};
  const Report some = evaluate_plan(graph, platform, plan);
  plan.stages[0].memory = {Swap{{LayerId(0)}, false}};
  const Report all = evaluate_plan(graph, platform, plan);
  CHECK(some.iterations.back() == Seconds(151));
  CHECK(all.iterations.back() == Seconds(153));
  CHECK(some.devices[0].memory.peak.value() == 3 * kStash);
  CHECK(all.devices[0].memory.peak.value() == 2 * kStash);
  Bytes moved_some;
  Bytes moved_all;
  for (const HostReport& host : some.hosts) moved_some += host.memory.peak;
  for (const HostReport& host : all.hosts) moved_all += host.memory.peak;
  CHECK(moved_some.value() == 2 * kStash);
  CHECK(moved_all.value() == 4 * kStash);
}

TEST_CASE("some microbatches: no run of a random plan is below its bound, and peaks follow from the orders") {
  int compared = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(400U); ++seed) {
    CAPTURE(seed);
    testing::RandomCase random = testing::random_case(seed);
    if (!testing::cover_some(random.plan, seed)) continue;
    if (testing::check_bound_and_peaks(random)) ++compared;
  }
  CHECK(compared > testing::random_cases(40));
}

}  // namespace stagecraft
