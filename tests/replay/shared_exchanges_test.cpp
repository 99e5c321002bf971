// Exchanges of groups whose links something else crosses: in a replay they share them.
#include "sim/analytic/evaluate.hpp"
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/engine/summary.hpp"
#include "sim/replay/replay_plan.hpp"
#include "tests/model/topologies.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace stagecraft::shared_exchanges_test {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::RandomCase;
using testing::straight;

constexpr double kPort = 1e9;  ///< bytes per second

Platform of_kind_k(NodeForm form, double efficiency = 1.0) {
  PlatformSpec spec = pairwise(1).spec;
  spec.collectives.efficiency = efficiency;
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

NodeForm one_node(std::size_t devices, double latency = 0.0) {
  NodeForm form = test::nodes_of(1, static_cast<std::uint32_t>(devices),
                                 Interconnect{SwitchedNode{}, test::link_of(kPort, latency)});
  form.node_kinds[NodeKindId(0)].host = HostSpec{Bytes(std::int64_t{1} << 50), test::link_of(1e6, 1e-5), 1};
  return form;
}

/// The replicas of a plan, each on as many devices.
void divide(LayerGraph& graph, Plan& plan, const Degrees& degrees) {
  const std::int64_t size = degrees.devices();
  graph.degrees = plan.degrees = degrees;
  graph.copies = copies_in(degrees);
  for (Stage& stage : plan.stages) {
    for (Group& group : stage.replicas) {
      const std::uint32_t first = group.lead().value() * static_cast<std::uint32_t>(size);
      group.devices.clear();
      for (std::uint32_t i = 0; i < size; ++i) group.devices.emplace_back(first + i);
    }
  }
}

/// An operation and when it ran.
struct Ran {
  OpKind kind;
  std::uint32_t stage;
  std::uint32_t microbatch;
  double start;
  double end;
};

std::vector<Ran> ran(const Timeline& timeline, OpKind kind, std::uint32_t stage, std::uint32_t microbatch) {
  std::vector<Ran> found;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != kind || entry.stage.value() != stage || entry.microbatch != microbatch) continue;
    found.push_back({kind, stage, microbatch, entry.start.value(), entry.end.value()});
  }
  return found;
}

std::size_t count_of(const Timeline& timeline, OpKind kind) {
  return static_cast<std::size_t>(std::ranges::count(timeline, kind, &TimelineEntry::kind));
}

RunWatch into(Timeline& timeline) {
  return RunWatch([&](const Span& span, const Op& op, auto) { timeline.push_back(timeline_entry(span, op)); });
}

Timeline replayed(const RandomCase& one, const Events& events = {}) {
  ReplayOptions options;
  options.record = RecordPart::All;
  return replay_plan(one.graph, one.platform, one.plan, {}, events, options).record.timeline;
}

/// Two stages of one layer on two groups of two devices, and one exchange after each pass: an all-reduce of `bytes`, as
/// much as each of the two sends the other.
RandomCase two_stages(std::int64_t bytes, std::int64_t tensor, std::int64_t microbatches) {
  RandomCase one{chain(2, 1.0, 2.0, tensor), of_kind_k(one_node(4)), straight(2, microbatches, "gpipe")};
  divide(one.graph, one.plan, {.tensor = 2});
  for (Layer& layer : one.graph.layers) {
    layer.forward_exchanges = layer.backward_exchanges = {{Exchange::Kind::AllReduce, Bytes(bytes)}};
  }
  return one;
}

// An exchange of x = 0.5e9 bytes takes 0.5 s on a port of w = 1e9 B/s. The first tensor, of b = 3e9 bytes, leaves at
// 1.5 s. At 2.5 s, when 1 s of it is on its way, the second exchange begins: both have half of the ports until it ends
// at 2.5 + 2 x / w = 3.5 s, and the tensor arrives at 1.5 + (b + x) / w = 5 s.
TEST_CASE("shared exchanges: an exchange and a boundary tensor on one port have half of it each") {
  const Timeline timeline = replayed(two_stages(500'000'000, 3'000'000'000, 2));
  const std::vector<Ran> first = ran(timeline, OpKind::Exchange, 0, 0);
  REQUIRE(first.size() >= 2);
  CHECK(first.front().start == doctest::Approx(1.0).epsilon(1e-9));
  CHECK(first.front().end == doctest::Approx(1.5).epsilon(1e-9));
  const std::vector<Ran> second = ran(timeline, OpKind::Exchange, 0, 1);
  REQUIRE(second.size() >= 2);
  for (std::size_t member = 0; member < 2; ++member) {
    CHECK(second[member].start == doctest::Approx(2.5).epsilon(1e-9));
    CHECK(second[member].end == doctest::Approx(3.5).epsilon(1e-9));
  }
  const std::vector<Ran> tensors = ran(timeline, OpKind::Activation, 0, 0);
  REQUIRE(tensors.size() == 2);
  for (const Ran& tensor : tensors) {
    CHECK(tensor.start == doctest::Approx(1.5).epsilon(1e-9));
    CHECK(tensor.end == doctest::Approx(5.0).epsilon(1e-9));
  }
}

// At 2.6 s a member fails for a second. Its exchange begins anew at 3.6 s, when tensors are still on their way, and has
// half of the ports again: until 3.6 + 2 x / w = 4.6 s.
TEST_CASE("shared exchanges: an exchange that a failure has ended begins anew, with its flows") {
  const Events events{{Seconds(2.6), std::nullopt, Failure{DeviceId(1), Seconds(1.0)}}};
  const Timeline timeline = replayed(two_stages(500'000'000, 3'000'000'000, 2), events);
  const std::vector<Ran> second = ran(timeline, OpKind::Exchange, 0, 1);
  REQUIRE(second.size() >= 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(second[i].start == doctest::Approx(i < 2 ? 2.5 : 3.6).epsilon(1e-9));
    CHECK(second[i].end == doctest::Approx(i < 2 ? 2.6 : 4.6).epsilon(1e-9));
  }
}

TEST_CASE("shared exchanges: the report counts what an exchange waits for its links as exchange") {
  const RandomCase one = two_stages(500'000'000, 3'000'000'000, 2);
  const Report evaluated = evaluate_plan(one.graph, one.platform, one.plan);
  const Report replayed = replay_plan(one.graph, one.platform, one.plan).report;
  REQUIRE(replayed.devices.size() == 4);
  for (std::size_t device = 0; device < 2; ++device) {
    const DeviceReport& alone = evaluated.devices[device];
    const DeviceReport& shared = replayed.devices[device];
    CHECK(alone.time.exchange.value() == doctest::Approx(4 * 0.5).epsilon(1e-9));
    CHECK(shared.time.exchange > alone.time.exchange + Seconds(0.49));
    CHECK(shared.time.compute.value() == doctest::Approx(alone.time.compute.value()).epsilon(1e-9));
    CHECK(shared.busy.value() == doctest::Approx((shared.time.compute + shared.time.exchange).value()).epsilon(1e-9));
  }
}

TEST_CASE("shared exchanges: where nothing else crosses its links, an exchange is one operation") {
  RandomCase one = two_stages(500'000'000, 3'000'000'000, 2);
  one.platform = pairwise(4, kPort);
  Timeline timeline = replayed(one);
  CHECK(count_of(timeline, OpKind::ExchangeFlow) == 0);
  CHECK(count_of(timeline, OpKind::Exchange) > 0);
  one = two_stages(500'000'000, 3'000'000'000, 2);
  CHECK(count_of(replayed(one), OpKind::ExchangeFlow) == 2 * 8);
  one.platform.spec.collectives.table = {{Bytes(1 << 20), BytesPerSecond(kPort)}};  // tells nothing of links
  CHECK(count_of(replayed(one), OpKind::ExchangeFlow) == 0);
}

/// Exchanges of every kind among those who may make them, some of them beside computations.
std::vector<Exchange> all_kinds() {
  using Among = Exchange::Among;
  using Kind = Exchange::Kind;
  std::vector<Exchange> all;
  for (const Among among : {Among::Tensor, Among::Context, Among::Expert}) {
    all.push_back({.kind = Kind::AllGather, .bytes = Bytes(4'567'891), .count = 2, .among = among});
    all.push_back({.kind = Kind::ReduceScatter, .bytes = Bytes(1001), .among = among});
    all.push_back({.kind = Kind::AllToAll, .bytes = Bytes(7'654'321), .count = 2, .among = among});
    all.push_back(
        {.kind = Kind::Shift, .bytes = Bytes(9'000'001), .count = 3, .among = among, .beside = Seconds(2e-3)});
    all.push_back({.kind = Kind::Shift, .bytes = Bytes(1001), .count = 3, .among = among, .beside = Seconds(1.0)});
    all.push_back({.kind = Kind::AllGather, .bytes = Bytes(50'000'000), .count = 7, .hidden = true, .among = among});
  }
  return all;
}

// One microbatch: nothing else is under way while a group exchanges.
void check_alone(const Degrees& degrees) {
  using Algorithm = CollectiveSpec::Algorithm;
  for (const Algorithm algorithm : {Algorithm::Ring, Algorithm::Hierarchical}) {
    for (const bool spreads : {false, true}) {
      CAPTURE(spreads);
      RandomCase one{chain(2, 1.0, 2.0, 1'000'003), {}, straight(2, 1, "gpipe")};
      NodeForm form = one_node(8, 3e-6);
      if (spreads) {
        form.node_kinds[NodeKindId(0)].device_count = 4;
        form.node_kinds[NodeKindId(0)].nic = NicSpec{test::link_of(kPort / 3, 7e-6), true};
        form.groups.front().count = 2;
      }
      PlatformSpec spec = of_kind_k(form, 0.75).spec;
      spec.collectives.algorithm = algorithm;
      one.platform = build_platform(std::move(spec));
      divide(one.graph, one.plan, degrees);
      if (spreads) {  // each group has two devices of either node
        for (std::uint32_t at = 0; at < 2; ++at) {
          const std::uint32_t first = 2 * at;
          one.plan.stages[at].replicas.front().devices = {DeviceId(first), DeviceId(first + 1), DeviceId(first + 4),
                                                          DeviceId(first + 5)};
        }
      }
      for (Layer& layer : one.graph.layers) {
        layer.forward_exchanges = {{Exchange::Kind::AllReduce, Bytes(12'345'677), 3}};
        layer.backward_exchanges = all_kinds();
      }
      CHECK(count_of(replayed(one), OpKind::ExchangeFlow) > 0);
      const Report evaluated = evaluate_plan(one.graph, one.platform, one.plan);
      const Report replayed = replay_plan(one.graph, one.platform, one.plan).report;
      CHECK(replayed.iterations.back().value() == doctest::Approx(evaluated.iterations.back().value()).epsilon(1e-9));
      for (std::size_t i = 0; i < replayed.devices.size(); ++i) {
        CHECK(replayed.devices[i].time.exchange.value() ==
              doctest::Approx(evaluated.devices[i].time.exchange.value()).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("shared exchanges: alone, flows take as long as the exchanges") {
  check_alone({.tensor = 4});
  check_alone({.tensor = 2, .context = 2});
  check_alone({.context = 4});
  check_alone({.expert = 4});
  check_alone({.tensor = 2, .context = 2, .expert = 4});
}

/// The window with exchanges that wait for no flow.
OpGraph with_literal_exchanges(const OpGraph& window) {
  OpGraph result;
  result.first_id = window.first_id;
  result.retired = window.retired;
  result.new_lanes = window.new_lanes;
  result.new_stages = window.new_stages;
  result.closed_lanes = window.closed_lanes;
  result.extra_lanes = window.extra_lanes;
  for (std::size_t i = 0; i < window.ops.size(); ++i) {
    Op op = window.ops[i];
    op.literal = op.literal || op.kind == OpKind::Exchange;
    result.append(op);
    for (const OpId earlier : window.before_start(i)) result.depend_on(earlier);
    for (const MemoryDelta& delta : window.deltas_of(i)) result.add_delta(delta);
  }
  return result;
}

Report evaluated_without_flows(const RandomCase& one) {
  LoweredRun run = lower(one.graph, one.platform, require_schedule(one.graph, one.platform, one.plan));
  OpSource source{[next = std::move(run.source.next)](const Observation& seen) -> std::optional<OpGraph> {
                    const std::optional<OpGraph> window = next(seen);
                    if (!window) return std::nullopt;
                    return with_literal_exchanges(*window);
                  },
                  run.source.one_pass};
  Summary summary(one.platform, run.measurement, evaluates_in_start_order(one.platform, source, {}));
  source = announced_to(summary, std::move(source));
  evaluate(one.platform, std::move(source), {}, summed_up_by(summary));
  return summary.finish();
}

double figure(const Report& report) {
  return report.period ? report.period->value() : report.iterations.back().value();
}

/// Groups of tokens and experts need a flush.
Degrees random_degrees(const Plan& plan, std::int64_t size, std::mt19937& random) {
  if (plan.schedule.name == "pipedream") return {.tensor = size};
  return std::array{Degrees{.tensor = size}, Degrees{.context = size}, Degrees{.expert = size},
                    Degrees{.tensor = size, .expert = size}}[random() % 4];
}

RandomCase random_on_a_node(std::uint32_t seed, std::int64_t size) {
  RandomCase one = random_case(seed);
  std::mt19937 random(seed);
  for (Layer& layer : one.graph.layers) {
    const Bytes bytes(5040 * static_cast<std::int64_t>(random() % 80'000));
    layer.forward_exchanges = {{Exchange::Kind::AllReduce, bytes, 1 + static_cast<std::int64_t>(random() % 2)}};
    layer.backward_exchanges = {{Exchange::Kind::AllGather, bytes, 2}, {Exchange::Kind::ReduceScatter, bytes}};
    layer.forward_exchanges.push_back(
        {.kind = Exchange::Kind::AllToAll, .bytes = bytes, .among = Exchange::Among::Expert});
    layer.backward_exchanges.push_back({.kind = Exchange::Kind::Shift,
                                        .bytes = bytes,
                                        .count = 2,
                                        .among = Exchange::Among::Context,
                                        .beside = Seconds(0.1 * static_cast<double>(random() % 3))});
    if (one.plan.schedule.name != "pipedream") layer.experts = Bytes(layer.parameters.value() / 2);
  }
  one.platform = of_kind_k(one_node(one.platform.devices.size() * static_cast<std::size_t>(size), 1e-4));
  divide(one.graph, one.plan, random_degrees(one.plan, size, random));
  return one;
}

// Lanes that take whatever is ready: a group is busy until the end of its exchange.
TEST_CASE("shared exchanges: devices run nothing else before the end of a slowed exchange") {
  RandomCase one = two_stages(500'000'000, 3'000'000'000, 6);
  one.plan.schedule.name = "spp-pe";
  const Report found = evaluate_plan(one.graph, one.platform, one.plan);
  CHECK(figure(found) == doctest::Approx(figure(evaluated_without_flows(one))).epsilon(1e-12));
  Timeline timeline = replayed(one);
  std::erase_if(timeline, [](const TimelineEntry& entry) { return !is_compute(entry.kind); });
  std::ranges::stable_sort(timeline, {}, [](const TimelineEntry& each) { return std::pair(each.from, each.start); });
  std::size_t slowed = 0;
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    if (timeline[i].kind != OpKind::Exchange) continue;
    slowed += timeline[i].end - timeline[i].start > Seconds(0.6) ? 1 : 0;
    CHECK(timeline[i].start.value() == doctest::Approx(timeline[i - 1].end.value()).epsilon(1e-9));
    const bool is_last = i + 1 == timeline.size() || timeline[i + 1].from != timeline[i].from;
    if (!is_last) CHECK(timeline[i + 1].start.value() >= timeline[i].end.value() * (1 - 1e-9));
  }
  CHECK(slowed > 0);
}

TEST_CASE("shared exchanges: on random plans evaluate takes the exchanges' own times (seeds 1 to 40)") {
  std::size_t flows = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    for (const std::int64_t size : {2, 3}) {
      CAPTURE(seed);
      CAPTURE(size);
      const RandomCase one = random_on_a_node(seed, size);
      Timeline timeline;
      const Report found = evaluate_plan(one.graph, one.platform, one.plan, {}, {}, into(timeline));
      const Report expected = evaluated_without_flows(one);
      flows += count_of(timeline, OpKind::ExchangeFlow);
      CHECK(figure(found) == doctest::Approx(figure(expected)).epsilon(1e-12));
      const Report replayed = replay_plan(one.graph, one.platform, one.plan).report;
      REQUIRE(found.devices.size() == expected.devices.size());
      for (std::size_t i = 0; i < found.devices.size(); ++i) {
        CHECK(found.devices[i].memory.peak == expected.devices[i].memory.peak);
        CHECK(found.devices[i].memory.breakdown == expected.devices[i].memory.breakdown);
        CHECK(found.devices[i].in_flight_peak == expected.devices[i].in_flight_peak);
        CHECK(found.devices[i].busy.value() == doctest::Approx(expected.devices[i].busy.value()).epsilon(1e-12));
        const double alone = found.devices[i].time.exchange.value();
        if (!found.period) CHECK(replayed.devices[i].time.exchange.value() >= alone * (1 - 1e-9));
      }
    }
  }
  CHECK(flows > 1000);
}

}  // namespace
}  // namespace stagecraft::shared_exchanges_test
