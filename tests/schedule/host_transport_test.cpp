// Boundary tensors that are copied to host memory, sent and copied to the device, lowered and evaluated.
#include "sim/schedule/pipeline_times.hpp"
#include "tests/schedule/over_hosts.hpp"
#include "tests/schedule/windows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>

namespace stagecraft {
namespace {

using testing::chain;
using testing::Hosts;
using testing::over_hosts;
using testing::straight;

/// Its transfers as `a 1-2 gpu0->gpu0.host`, by start.
std::string transfers(const Timeline& timeline, const Platform& platform) {
  Timeline moved;
  for (const TimelineEntry& entry : timeline) {
    if (is_transfer(entry.kind)) moved.push_back(entry);
  }
  std::ranges::sort(moved, {}, [](const TimelineEntry& entry) { return std::tuple(entry.start, entry.id); });
  std::string text;
  for (const TimelineEntry& entry : moved) {
    const auto [from, to] = ends_of(platform, entry.from, entry.to, entry.leg);
    std::array<char, 80> span{};
    std::snprintf(span.data(), span.size(), "%s %.12g-%.12g ", entry.kind == OpKind::Activation ? "a" : "g",
                  entry.start.value(), entry.end.value());
    text += (text.empty() ? "" : ", ") + std::string(span.data()) + platform.place_name(from) + "->" +
            platform.place_name(to);
  }
  return text;
}

Action computation(ActionKind kind, std::uint32_t stage, std::uint32_t microbatch) {
  Action action;
  action.kind = kind;
  action.stage = StageId(stage);
  action.microbatch = microbatch;
  return action;
}

// f = 1, b = 2; 8 bytes: 1 s over a host link of 8 B/s and 2 s over a network of 4 B/s, one leg after the other.
TEST_CASE("host transport: a tensor is copied out, sent and copied in, and each leg takes its time") {
  const Platform platform = over_hosts(2, 4, {.link = 8});
  Timeline timeline;
  const Report report =
      evaluate_plan(chain(2, 1, 2, 8), platform, straight(2, 1, "gpipe"), {}, {}, collect_into(timeline));
  CHECK(transfers(timeline, platform) ==
        "a 1-2 gpu0->gpu0.host, a 2-4 gpu0.host->gpu1.host, a 4-5 gpu1.host->gpu1, "
        "g 8-9 gpu1->gpu1.host, g 9-11 gpu1.host->gpu0.host, g 11-12 gpu0.host->gpu0");
  CHECK(report.iterations.back() == Seconds(14));
  // gpu1 waits for the tensor from 1 on, gpu0 for its gradient from 8 to 12. Before, neither waits for a transfer.
  CHECK(report.devices[0].time.exposed_communication == Seconds(4));
  CHECK(report.devices[1].time.exposed_communication == Seconds(4));
  // Each link and direction carries the 8 bytes once.
  CHECK(report.links.size() == 6);
  for (const LinkReport& link : report.links) CHECK(link.bytes() == Bytes(8));
}

TEST_CASE("host transport: latencies of all legs count, without bytes too") {
  // 0.25 s to the host, 0.5 s between hosts, 0.25 s from the host.
  const Platform platform = over_hosts(2, 4, {.link = 8, .latency = 0.25}, 0.5);
  const Plan plan = straight(2, 1, "gpipe");
  CHECK(evaluate_plan(chain(2, 1, 2, 8), platform, plan).iterations.back() == Seconds(6 + 2 * (4 + 1)));
  CHECK(evaluate_plan(chain(2, 1, 2, 0), platform, plan).iterations.back() == Seconds(6 + 2 * 1));
}

// As in the first case; the bytes are on a host from the start of the leg that brings them to the end of the next one.
TEST_CASE("host transport: host memory holds the tensor meanwhile") {
  const Platform platform = over_hosts(2, 4, {.link = 8, .memory = 7});
  const Report report = evaluate_plan(chain(2, 1, 2, 8), platform, straight(2, 1, "gpipe"));
  REQUIRE(report.hosts.size() == 2);
  CHECK(report.hosts[0].memory.peak == Bytes(8));
  CHECK(report.hosts[0].memory.peak_at == Seconds(1));
  CHECK(report.hosts[1].memory.peak == Bytes(8));
  CHECK(report.hosts[1].memory.peak_at == Seconds(2));
  REQUIRE(report.overflows.size() == 2);
  CHECK(platform.place_name(report.overflows[0].place) == "gpu0.host");
  CHECK(report.overflows[0].at == Seconds(1));
  CHECK(report.overflows[0].excess == Bytes(1));
  // On the devices nothing changes: buffers are there from the start.
  const Report direct = evaluate_plan(chain(2, 1, 2, 8), testing::pairwise(2), straight(2, 1, "gpipe"));
  for (std::size_t i = 0; i < 2; ++i) CHECK(report.devices[i].memory.peak == direct.devices[i].memory.peak);
}

// Two microbatches of f = 1 and 8 bytes: copies out 1-2 and 2-3, sends 2-4 and 4-6. The second tensor arrives on the
// sender's host at 2, while the first one is still there.
TEST_CASE("host transport: legs of successive tensors overlap") {
  const Platform platform = over_hosts(2, 4, {.link = 8});
  Timeline timeline;
  const Report report =
      evaluate_plan(chain(2, 1, 2, 8), platform, straight(2, 2, "gpipe"), {}, {}, collect_into(timeline));
  CHECK(transfers(timeline, platform)
            .starts_with(
                "a 1-2 gpu0->gpu0.host, a 2-4 gpu0.host->gpu1.host, a 2-3 gpu0->gpu0.host, a 4-5 gpu1.host->gpu1, "
                "a 4-6 gpu0.host->gpu1.host, a 6-7 gpu1.host->gpu1"));
  CHECK(report.hosts[0].memory.peak == Bytes(16));
}

TEST_CASE("host transport: a channel carries one tensor at a time, from the first leg to the last") {
  // Forwards end at 1 and 2, a tensor takes 4 s; strict or ready, the second starts when the first has arrived.
  const Platform platform = over_hosts(2, 4, {.link = 8});
  for (const Discipline discipline : {Discipline::Strict, Discipline::Ready}) {
    LowerOptions options;
    options.literal = Schedule{};
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      DeviceOrder order{DeviceId(stage), Discipline::Strict, {}};
      for (const ActionKind kind : {ActionKind::Forward, ActionKind::Backward}) {
        for (std::uint32_t k = 0; k < 2; ++k) order.actions.push_back(computation(kind, stage, k));
      }
      options.literal->devices.push_back(order);
    }
    ChannelOrder channel{{{StageId(0), StageId(1)}}, discipline, {}};
    for (const bool gradient : {false, true}) {
      for (std::uint32_t k = 0; k < 2; ++k) channel.actions.push_back({gradient, 0, k, Seconds(0)});
    }
    options.literal->channels = {channel};
    Timeline timeline;
    static_cast<void>(
        evaluate_plan(chain(2, 1, 2, 8), platform, straight(2, 2, "literal"), options, {}, collect_into(timeline)));
    CHECK(transfers(timeline, platform)
              .starts_with("a 1-2 gpu0->gpu0.host, a 2-4 gpu0.host->gpu1.host, a 4-5 gpu1.host->gpu1, "
                           "a 5-6 gpu0->gpu0.host, a 6-8 gpu0.host->gpu1.host, a 8-9 gpu1.host->gpu1"));
  }
}

TEST_CASE("host transport: with rendezvous the first leg waits for the receiver") {
  // gpu1 runs a forward and a backward of microbatch 0 (5 to 8) before it asks for microbatch 1.
  const Platform platform = over_hosts(2, 4, {.link = 8});
  LowerOptions options;
  options.literal = Schedule{};
  options.literal->transfers = Transfers::Rendezvous;
  using Kind = ActionKind;
  options.literal->devices = {{DeviceId(0),
                               Discipline::Strict,
                               {computation(Kind::Forward, 0, 0), computation(Kind::Forward, 0, 1),
                                computation(Kind::Backward, 0, 0), computation(Kind::Backward, 0, 1)}},
                              {DeviceId(1),
                               Discipline::Strict,
                               {computation(Kind::Forward, 1, 0), computation(Kind::Backward, 1, 0),
                                computation(Kind::Forward, 1, 1), computation(Kind::Backward, 1, 1)}}};
  Timeline timeline;
  static_cast<void>(
      evaluate_plan(chain(2, 1, 2, 8), platform, straight(2, 2, "literal"), options, {}, collect_into(timeline)));
  const std::string moved = transfers(timeline, platform);
  CHECK(moved.starts_with("a 1-2 gpu0->gpu0.host, a 2-4 gpu0.host->gpu1.host, a 4-5 gpu1.host->gpu1"));
  CHECK(moved.find("a 8-9 gpu0->gpu0.host") != std::string::npos);
}

TEST_CASE("host transport: the analytic network and the orders under caps count all legs") {
  // A tensor of 8 bytes takes 1 + 2 + 1 s; the analytic network leaves out latencies.
  const Platform platform = over_hosts(2, 4, {.link = 8, .latency = 0.25}, 0.5);
  const LayerGraph graph = chain(2, 1, 2, 8);
  const Plan plan = straight(2, 1, "gpipe");
  CHECK(channel_time(platform, plan, {StageId(0), StageId(1), Bytes(8)}).value() == doctest::Approx(4).epsilon(1e-12));
  LowerOptions options;
  options.network = NetworkModel::Analytic;
  const Report report = evaluate_plan(graph, platform, plan, options);
  CHECK(report.iterations.back().value() == doctest::Approx(6 + 2 * 4).epsilon(1e-12));
  CHECK(report.hosts.empty());
}

TEST_CASE("host transport: all-reduces go straight from device to device") {
  // One stage on two devices: f + b = 3 s, then 8 bytes of a ring of two (2 (n - 1) / n of 8) at 4 B/s.
  Plan plan = straight(1, 2, "gpipe");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  const Platform platform = over_hosts(2, 4, {.link = 1});
  CHECK(evaluate_plan(chain(1, 1, 2, 0, 0, 8), platform, plan).iterations.back() == Seconds(5));
}

/// The random plans of this folder on a platform whose tensors pass through host memory.
testing::RandomCase random_over_hosts(std::uint32_t seed, const testing::RandomCaseOptions& options = {}) {
  testing::RandomCase random = testing::random_case(seed, options);
  PlatformSpec spec = random.platform.spec;
  spec.transport = Transport::Host;
  for (ExplicitDevice& device : std::get<ExplicitForm>(spec.form).devices) {
    device.host->link->bandwidth = BytesPerSecond(2e8);
  }
  random.platform = build_platform(std::move(spec));
  return random;
}

TEST_CASE("host transport: windows of any size give the same run") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    const testing::RandomCase random = random_over_hosts(seed);
    CAPTURE(seed);
    testing::check_windows(random);
  }
}

TEST_CASE("host transport: legs come one after the other, and no host keeps anything at the end (seeds 1 to 60)") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const testing::RandomCase random = random_over_hosts(seed, {Sharing::Fair, true, false});
    CAPTURE(seed);
    Timeline timeline;
    std::map<PlaceId, Bytes> left;
    static_cast<void>(evaluate_plan(random.graph, random.platform, random.plan, {}, {},
                                    [&](const Span& span, const Op& op, std::span<const MemoryDelta> deltas) {
                                      timeline.push_back(timeline_entry(span, op));
                                      for (const MemoryDelta& delta : deltas) left[delta.place] += delta.bytes;
                                    }));
    for (HostId host : indices(random.platform.hosts)) CHECK(left[random.platform.place(host)] == Bytes(0));
    std::ranges::sort(timeline, {}, &TimelineEntry::id);
    for (std::size_t i = 0; i < timeline.size(); ++i) {
      if (!is_continued(timeline[i].leg)) continue;
      REQUIRE(i > 0);
      CHECK(timeline[i].start >= timeline[i - 1].end);
      CHECK(timeline[i].bytes == timeline[i - 1].bytes);
      CHECK(timeline[i].leg != Leg::Whole);
    }
  }
}

}  // namespace
}  // namespace stagecraft
