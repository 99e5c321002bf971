// Host links: swaps of several devices share them, boundary tensors go first, and so do the copies of tensors that pass
// through host memory. Each case gives the expected instants above the code.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/replay/near.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using test::link_of;
using test::near;
using testing::chain;
using testing::straight;

/// Nodes of two devices under one PCIe switch: 16 B/s to each device, 8 B/s to the socket, a NIC of 4 B/s.
NodeForm boxes(std::uint32_t nodes) {
  NodeForm form = test::nodes_of(nodes, 2, Interconnect{PcieNode{2, link_of(8), 0, {}}, link_of(16)}, {},
                                 NicSpec{link_of(4), false});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(1000), std::nullopt, 1};
  return form;
}

Platform platform_of(NodeForm form, Transport transport = Transport::Direct) {
  PlatformSpec spec;
  spec.name = "boxes";
  spec.device_kinds.push_back({"K", Bytes(100'000), 1.0, Bytes(0), std::nullopt});
  spec.form = std::move(form);
  spec.transport = transport;
  return build_platform(std::move(spec));
}

/// One layer on each of `devices`, which take turns; it swaps its stash.
Plan swapping_replicas(std::vector<DeviceId> devices) {
  Plan plan = straight(1, static_cast<std::int64_t>(devices.size()), "gpipe");
  plan.stages[0].replicas = groups_of_one(devices);
  plan.stages[0].memory = {Swap{{LayerId(0)}}};
  return plan;
}

struct Run {
  Timeline timeline;
  Report report;
};

Run replayed(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  ReplayOptions options;
  options.record = RecordPart::All;
  ReplayOutcome outcome = replay_plan(graph, platform, plan, {}, {}, options);
  std::ranges::sort(outcome.record.timeline, {},
                    [](const TimelineEntry& entry) { return std::tuple(entry.start, entry.id); });
  return {std::move(outcome.record.timeline), std::move(outcome.report)};
}

/// Starts and ends of the operations of one kind, by start.
std::vector<std::pair<double, double>> times_of(const Run& run, OpKind kind) {
  std::vector<std::pair<double, double>> times;
  for (const TimelineEntry& entry : run.timeline) {
    if (entry.kind == kind) times.emplace_back(entry.start.value(), entry.end.value());
  }
  return times;
}

void check_times(const Run& run, OpKind kind, const std::vector<std::pair<double, double>>& expected) {
  const auto times = times_of(run, kind);
  REQUIRE(times.size() == expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    CHECK(times[i].first == near(expected[i].first));
    CHECK(times[i].second == near(expected[i].second));
  }
}

// f = 1, b = 2, a stash of 8 bytes. One device copies out at 8 B/s, the width of the switch's uplink: 1-2, in again
// 2-3, backward 3-5. Two devices under the switch have 4 B/s each: 1-3, 3-5, backward 5-7.
TEST_CASE("host links: devices under one PCIe switch that swap at once share its uplink") {
  const LayerGraph graph = chain(1, 1, 2, 0, 8);
  const Platform platform = platform_of(boxes(1));
  const Run alone = replayed(graph, platform, swapping_replicas({DeviceId(0)}));
  check_times(alone, OpKind::SwapOut, {{1, 2}});
  check_times(alone, OpKind::SwapIn, {{2, 3}});
  const Run both = replayed(graph, platform, swapping_replicas({DeviceId(0), DeviceId(1)}));
  check_times(both, OpKind::SwapOut, {{1, 3}, {1, 3}});
  check_times(both, OpKind::SwapIn, {{3, 5}, {3, 5}});
  CHECK(both.report.iterations.back().value() == near(7));
  // Host memory holds both stashes: from the start of a copy out to the end of the copy back.
  REQUIRE(both.report.hosts.size() == 1);
  CHECK(both.report.hosts[0].memory.peak == Bytes(16));
}

// The same with a link of 8 B/s to the host: one for both devices, or one for each.
TEST_CASE("host links: devices that share a physical host link share its bandwidth") {
  const LayerGraph graph = chain(1, 1, 2, 0, 8);
  for (const std::uint32_t shared_by : {1U, 2U}) {
    CAPTURE(shared_by);
    NodeForm form = boxes(1);
    form.node_kinds[NodeKindId(0)].host->link = link_of(8);
    form.node_kinds[NodeKindId(0)].host->shared_by = shared_by;
    const Run run = replayed(graph, platform_of(form), swapping_replicas({DeviceId(0), DeviceId(1)}));
    CHECK(run.report.iterations.back().value() == near(shared_by == 1 ? 5 : 7));
  }
}

// On a half-duplex link copies in both directions share it. f = 1, b = 4, two microbatches: microbatch 0 goes out 1-2.
// From 2 on it comes in while microbatch 1 goes out, at 4 B/s each: 2-4. Backward of microbatch 0 4-8.
TEST_CASE("host links: both directions of a half-duplex host link share it") {
  NodeForm form = boxes(1);
  form.node_kinds[NodeKindId(0)].host->link = link_of(8, 0, Duplex::Half);
  Plan plan = swapping_replicas({DeviceId(0)});
  plan.microbatches = 2;
  const Run run = replayed(chain(1, 1, 4, 0, 8), platform_of(form), plan);
  check_times(run, OpKind::SwapOut, {{1, 2}, {2, 4}});
  check_times(run, OpKind::SwapIn, {{2, 4}, {4, 5}});
}

/// Two stages on devices of two nodes; the first one swaps a stash of 16 bytes. Between them 8 bytes.
Plan over_the_network() {
  Plan plan = straight(2, 1, "gpipe");
  plan.stages[1].replicas = {DeviceId(2)};
  plan.stages[0].memory = {Swap{{LayerId(0)}}};
  return plan;
}

LayerGraph with_stash() {
  LayerGraph graph = chain(2, 1, 2, 8);
  graph.layers[LayerId(0)].stash = Bytes(16);
  return graph;
}

// Both leave gpu0 at 1, when its forward ends. Sent directly, the activation takes the NIC's 4 B/s over the tree and
// the NIC: 1-3, while the swap rests; then the swap takes 16 bytes / 8 B/s: 3-5.
TEST_CASE("host links: a boundary tensor that climbs the tree goes before a swap") {
  const Run run = replayed(with_stash(), platform_of(boxes(2)), over_the_network());
  check_times(run, OpKind::Activation, {{1, 3}});
  check_times(run, OpKind::SwapOut, {{1, 5}});
}

// Through host memory, the tensor takes the tree for 8 bytes / 8 B/s only, 1-2. Then it crosses the NICs, 2-4, and
// climbs down the other tree, 4-5. The swap rests for one second: 16 bytes from 2 to 4.
TEST_CASE("host links: a boundary tensor's copy to the host goes before a swap, and lets it go on while it is sent") {
  const Run run = replayed(with_stash(), platform_of(boxes(2), Transport::Host), over_the_network());
  check_times(run, OpKind::Activation, {{1, 2}, {2, 4}, {4, 5}});
  check_times(run, OpKind::SwapOut, {{1, 4}});
  // F1 5-6, B1 6-8, gradient 8-9, 9-11, 11-12, B0 12-14.
  CHECK(run.report.iterations.back().value() == near(14));
  // On the host of gpu0: the tensor (8) from 1 to 4, and the swapped stash (16) from 1 on; the gradient (8) comes
  // later.
  CHECK(run.report.hosts[0].memory.peak == Bytes(24));
  CHECK(run.report.hosts[0].memory.breakdown ==
        MemoryBreakdown{Bytes(0), Bytes(0), Bytes(0), Bytes(16), Bytes(8), Bytes(0)});
}

// Two microbatches with f = 1.5. The copies of the activations take 1.5-2.5 and 3-4. The swap of microbatch 0 has what
// they leave of the tree: it rests until 2.5, moves 4 of its 16 bytes until 3, rests until 4, and moves 12 more
// until 5.5. A swap that went on while it rests would end at 3.5, as 16 bytes take 2 s.
TEST_CASE("host links: a swap that rests moves nothing, however often it is stopped") {
  LayerGraph graph = with_stash();
  graph.layers[LayerId(0)].forward = Seconds(1.5);
  Plan plan = over_the_network();
  plan.microbatches = 2;
  const Run run = replayed(graph, platform_of(boxes(2), Transport::Host), plan);
  const auto swaps = times_of(run, OpKind::SwapOut);
  REQUIRE(swaps.size() == 2);
  CHECK(swaps[0].first == near(1.5));
  CHECK(swaps[0].second == near(5.5));
}

// Both devices of node 0 send 8 bytes to the devices of node 1 at 1. Copies out over the uplink of 8 B/s: 1-3. Both
// cross the NICs of 4 B/s: 3-7. Copies in: 7-9. Evaluated, each has its links alone: 1 + 2 + 1 s.
TEST_CASE("host links: tensors of two devices share the way through host memory, leg by leg") {
  Plan plan = straight(2, 2, "gpipe");
  plan.stages[0].replicas = groups_of_one({DeviceId(0), DeviceId(1)});
  plan.stages[1].replicas = groups_of_one({DeviceId(2), DeviceId(3)});
  const LayerGraph graph = chain(2, 1, 2, 8);
  const Platform platform = platform_of(boxes(2), Transport::Host);
  const Run run = replayed(graph, platform, plan);
  check_times(run, OpKind::Activation, {{1, 3}, {1, 3}, {3, 7}, {3, 7}, {7, 9}, {7, 9}});
  CHECK(run.report.hosts[0].memory.peak == Bytes(16));
  CHECK(evaluate_plan(graph, platform, plan).iterations.back().value() == near(2 * (3 + 4)));
}

TEST_CASE("host links: a swap larger than host memory ends as out of memory of the host, and still finishes") {
  NodeForm form = boxes(1);
  form.node_kinds[NodeKindId(0)].host->memory = Bytes(5);
  const Platform platform = platform_of(form);
  const Run run = replayed(chain(1, 1, 2, 0, 8), platform, swapping_replicas({DeviceId(0)}));
  REQUIRE(run.report.overflows.size() == 1);
  const MemoryOverflow& overflow = run.report.overflows[0];
  CHECK(platform.place_name(overflow.place) == "host0");
  CHECK(overflow.at == Seconds(1));
  CHECK(overflow.excess == Bytes(3));
  CHECK(run.report.iterations.back().value() == near(5));
}

}  // namespace
}  // namespace stagecraft
