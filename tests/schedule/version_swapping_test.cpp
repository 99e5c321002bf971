// Weight versions in host memory: which copies there are, when, and what they leave on the device.
#include "sim/schedule/device_peaks.hpp"
#include "tests/schedule/over_hosts.hpp"
#include "tests/schedule/windows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::over_hosts;
using testing::straight;

constexpr std::int64_t kWeights = 100;  ///< bytes of a version

/// Stages of f = 1 and b = 2, of which the first alone has weights and keeps a version for each microbatch in flight:
/// as many as there are stages.
struct Case {
  LayerGraph graph;
  Plan plan;

  explicit Case(std::size_t stages, std::int64_t microbatches = 80) {
    graph = chain(stages, 1, 2);
    graph.layers[LayerId(0)].parameters = Bytes(kWeights);
    plan = straight(stages, microbatches, "pipedream");
    plan.training = {0, 0, 0, 0.0};
    plan.stages[0].swap_weight_versions = true;
  }
  [[nodiscard]] Report evaluated(double link, Timeline* timeline = nullptr) const {
    const Platform platform = over_hosts(plan.stages.size(), 1e9, {.link = link, .transport = Transport::Direct});
    Timeline unused;
    return evaluate_plan(graph, platform, plan, {}, {}, collect_into(timeline != nullptr ? *timeline : unused));
  }
  [[nodiscard]] Report without(double link) const {
    Case kept = *this;
    kept.plan.stages[0].swap_weight_versions = false;
    return kept.evaluated(link);
  }
};

Bytes weights_at_peak(const Report& report) {
  return report.devices[0].memory.breakdown[static_cast<std::size_t>(MemoryCategory::Weights)];
}

// Six stages: six versions. A backward of stage 0 ends every 3 s, at t. Then the version from two updates ago goes to
// the host, t to t + 0.5, and the version of the next backward, five updates old, comes back, t to t + 0.5; it stays
// until that backward ends, at t + 3. So the device holds two versions and these two. The host has what goes out and
// what comes back, too, and two versions in between.
TEST_CASE("version swapping: a device keeps two versions and those on their way, hidden behind its work") {
  const Case six(6);
  const Report report = six.evaluated(200);
  CHECK(six.without(200).devices[0].memory.peak == Bytes(6 * kWeights));
  CHECK(report.devices[0].memory.peak == Bytes(4 * kWeights));
  CHECK(weights_at_peak(report) == Bytes(4 * kWeights));
  REQUIRE(report.hosts.size() == 1);
  CHECK(report.hosts[0].memory.peak == Bytes(4 * kWeights));
  CHECK(report.period->value() == doctest::Approx(3).epsilon(1e-12));
  CHECK(six.without(200).hosts.empty());
}

TEST_CASE(
    "version swapping: copies start with the update and end with the backward, in the order of the microbatches") {
  Timeline timeline;
  const Case six(6);
  static_cast<void>(six.evaluated(200, &timeline));
  std::map<std::uint32_t, std::pair<Seconds, Seconds>> backwards;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == OpKind::Backward && entry.stage == StageId(0)) {
      backwards[entry.microbatch] = {entry.start, entry.end};
    }
  }
  // In the steady state microbatch m uses the version of update m - 5. It is old after update m - 3, at the end of the
  // backward of microbatch m - 4, and comes back from the end of the backward before its own.
  std::size_t copies = 0;
  for (const TimelineEntry& entry : timeline) {
    const std::uint32_t m = entry.microbatch;
    if (m < 10 || m > 70) continue;
    if (entry.kind == OpKind::SwapOut) CHECK(entry.start == backwards.at(m - 4).second);
    if (entry.kind == OpKind::SwapIn) CHECK(entry.start == backwards.at(m - 1).second);
    if (entry.kind != OpKind::SwapOut && entry.kind != OpKind::SwapIn) continue;
    CHECK(entry.end == entry.start + Seconds(0.5));
    CHECK(entry.bytes == Bytes(kWeights));
    ++copies;
  }
  CHECK(copies == 2 * 61);
}

// A copy of 4 s starts when the backward before has ended, and the next backward takes 2 s: 6 s for each microbatch.
TEST_CASE("version swapping: a backward waits for its version") {
  const Report report = Case(6).evaluated(25);
  CHECK(report.period->value() == doctest::Approx(6).epsilon(1e-12));
  CHECK(report.devices[0].time.exposed_communication.value() > 0.0);
}

TEST_CASE("version swapping: two versions stay where they are") {
  // Two stages have two versions; and a plan may say that it keeps only two.
  Case two(2);
  CHECK(two.evaluated(200) == two.without(200));
  Case told(6);
  told.plan.stages[0].weight_versions = 2;
  CHECK(told.evaluated(200) == told.without(200));
}

TEST_CASE("version swapping: a schedule that flushes moves nothing, as it never needs an old version") {
  Case flushed(4, 8);
  flushed.plan.schedule.name = "1f1b";
  flushed.plan.stages[0].weight_versions = 5;
  const Report report = flushed.evaluated(200);
  CHECK(report.hosts.empty());
  CHECK(report.devices[0].memory.peak == Bytes(2 * kWeights));
  CHECK(flushed.without(200).devices[0].memory.peak == Bytes(5 * kWeights));
}

// With an update after two rounds, version u serves microbatches of two forwards. Six in flight: ceil(5 / 2) + 1
// versions.
TEST_CASE("version swapping: a version that several microbatches need comes back for each, and then leaves the host") {
  Case rounds(6);
  rounds.plan.rounds_per_update = 2;
  Timeline timeline;
  const Report report = rounds.evaluated(200, &timeline);
  CHECK(rounds.without(200).devices[0].memory.peak == Bytes(4 * kWeights));
  const auto count = [&](OpKind kind) { return std::ranges::count(timeline, kind, &TimelineEntry::kind); };
  CHECK(count(OpKind::SwapIn) > count(OpKind::SwapOut));
  CHECK(report.hosts[0].memory.peak == Bytes(2 * kWeights));
}

TEST_CASE("version swapping: peaks depend on times, so they do not follow from the orders alone") {
  const Case six(6);
  const Platform platform = over_hosts(6, 1e9, {.transport = Transport::Direct});
  const auto peaks = [&](const Plan& plan) {
    return device_peaks(six.graph, require_schedule(six.graph, platform, plan));
  };
  CHECK_FALSE(peaks(six.plan).has_value());
  Plan kept = six.plan;
  kept.stages[0].swap_weight_versions = false;
  CHECK(peaks(kept).has_value());
}

/// A random plan of `pipedream` all of whose stages swap their versions.
testing::RandomCase random_swapping(std::uint32_t seed, bool allow_replicas) {
  testing::RandomCase random = testing::random_case(seed, {Sharing::Fair, allow_replicas, false});
  random.plan.schedule.name = "pipedream";
  for (Stage& stage : random.plan.stages) stage.swap_weight_versions = true;
  random.plan.microbatches = std::max<std::int64_t>(40, testing::least_length(random.plan));
  return random;
}

TEST_CASE("version swapping: windows of any size give the same run (seeds 1 to 30)") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const testing::RandomCase random = random_swapping(seed, true);
    CAPTURE(seed);
    testing::check_windows(random);
  }
}

TEST_CASE("version swapping: at the end the hosts are empty and the devices hold two versions (seeds 1 to 60)") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const testing::RandomCase random = random_swapping(seed, true);
    CAPTURE(seed);
    std::map<std::pair<PlaceId, MemoryCategory>, Bytes> left;
    static_cast<void>(evaluate_plan(random.graph, random.platform, random.plan, {}, {},
                                    [&](const Span&, const Op&, std::span<const MemoryDelta> deltas) {
                                      for (const MemoryDelta& delta : deltas) {
                                        left[{delta.place, delta.category}] += delta.bytes;
                                      }
                                    }));
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    for (HostId host : indices(random.platform.hosts)) {
      CHECK(left[{random.platform.place(host), MemoryCategory::Weights}] == Bytes(0));
    }
    for (std::size_t s = 0; s < random.plan.stages.size(); ++s) {
      Bytes parameters;
      for (LayerId layer : random.plan.stages[s].layers) parameters += random.graph.layers[layer].parameters;
      for (DeviceId device : devices_of(random.plan.stages[s])) {
        CHECK(left[{random.platform.place(device), MemoryCategory::Weights}] ==
              parameters * std::min<std::int64_t>(2, program.weight_versions[s]));
      }
    }
  }
}

// Without replicas an update follows each backward. The version of a forward is then the number of backwards of its
// stage that have ended before it; it is old at a backward if two more have ended.
TEST_CASE("version swapping: the backwards that need an old version, and no others, wait for one (seeds 1 to 60)") {
  std::size_t old_ones = 0;
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const testing::RandomCase random = random_swapping(seed, false);
    CAPTURE(seed);
    Timeline timeline;
    static_cast<void>(evaluate_plan(random.graph, random.platform, random.plan, {}, {}, collect_into(timeline)));
    const ScheduleProgram program = require_schedule(random.graph, random.platform, random.plan);
    std::ranges::sort(timeline, {}, &TimelineEntry::id);  // on a device, the order of its work
    for (StageId stage : indices<StageId>(random.plan.stages.size())) {
      Bytes parameters;
      for (LayerId layer : random.plan.stages[stage.value()].layers) {
        parameters += random.graph.layers[layer].parameters;
      }
      if (parameters == Bytes(0)) continue;
      std::map<std::uint32_t, std::int64_t> version;
      std::map<std::uint32_t, Seconds> back;
      for (const TimelineEntry& entry : timeline) {
        if (entry.stage == stage && entry.kind == OpKind::SwapIn) back[entry.microbatch] = entry.end;
      }
      std::int64_t updates = 0;
      std::map<std::uint32_t, bool> begun;
      for (const TimelineEntry& entry : timeline) {
        if (entry.stage != stage) continue;
        if (entry.kind == OpKind::Forward) version[entry.microbatch] = updates;
        const bool is_backward = entry.kind == OpKind::Backward || entry.kind == OpKind::Recompute;
        if (!is_backward) continue;
        if (!std::exchange(begun[entry.microbatch], true)) {
          const bool is_old = program.weight_versions[stage.value()] > 2 && updates - version[entry.microbatch] >= 2;
          old_ones += is_old ? 1 : 0;
          REQUIRE(back.contains(entry.microbatch) == is_old);
          if (is_old) CHECK(entry.start >= back[entry.microbatch]);
        }
        const bool ends = std::ranges::none_of(timeline, [&](const TimelineEntry& later) {
          return later.stage == stage && later.microbatch == entry.microbatch && later.id > entry.id &&
                 (later.kind == OpKind::Backward || later.kind == OpKind::Recompute);
        });
        if (ends) ++updates;
      }
    }
  }
  CHECK(old_ones > 500);
}

}  // namespace
}  // namespace stagecraft
