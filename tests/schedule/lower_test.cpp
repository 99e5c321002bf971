#include "sim/schedule/lower.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/model/check_plan.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/compiled.hpp"
#include "tests/schedule/fixed_plans.hpp"
#include "tests/schedule/random_plans.hpp"
#include "tests/schedule/windows.hpp"

#include <doctest/doctest.h>

#include <numeric>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::random_case;
using testing::RandomCase;
using testing::straight;

std::vector<const TimelineEntry*> of_kind(const Timeline& timeline, OpKind kind) {
  std::vector<const TimelineEntry*> result;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind == kind) result.push_back(&entry);
  }
  return result;
}

/// Two stages: `first` replicas of the first, `second` of the second.
Plan two_stages(std::size_t first, std::size_t second, std::int64_t microbatches, const char* schedule,
                Replication replication = Replication::RoundRobin) {
  Plan plan = straight(2, microbatches, schedule);
  plan.stages[0].replicas.clear();
  plan.stages[1].replicas.clear();
  for (std::size_t i = 0; i < first; ++i) plan.stages[0].replicas.emplace_back(DeviceId(i));
  for (std::size_t i = 0; i < second; ++i) plan.stages[1].replicas.emplace_back(DeviceId(first + i));
  plan.stages[0].replication = plan.stages[1].replication = replication;
  return plan;
}

TEST_CASE("lower: windows of any size give the same run") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomCase random = random_case(seed);
    CAPTURE(seed);
    CHECK(check_plan(random.graph, random.platform, random.plan).empty());
    testing::check_windows(random);
  }
}

TEST_CASE("lower: one pass and the event heap agree to the last bit") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomCase random = random_case(seed, {Sharing::Fair, true, false});
    CAPTURE(seed);
    const Report one_pass = evaluate_plan(random.graph, random.platform, random.plan);
    // A change that changes nothing makes the engine take the heap.
    const Events events = {{Seconds(0), std::nullopt, Slowdown{DeviceId(0), 1.0}}};
    const Report heap = evaluate_plan(random.graph, random.platform, random.plan, {}, events);
    CHECK(one_pass.iterations == heap.iterations);
    CHECK(one_pass.period == heap.period);
    for (std::size_t i = 0; i < one_pass.devices.size(); ++i) {
      CHECK(one_pass.devices[i].memory == heap.devices[i].memory);
      CHECK(one_pass.devices[i].busy.value() == doctest::Approx(heap.devices[i].busy.value()).epsilon(1e-12));
    }
  }
}

TEST_CASE("lower: the parts of each device's time add up to the iteration or the window") {
  for (std::uint32_t seed = 1; seed <= 60; ++seed) {
    const RandomCase random = random_case(seed);
    CAPTURE(seed);
    const Report report = evaluate_plan(random.graph, random.platform, random.plan);
    const MeasuredPart part =
        report.period ? measured_part(testing::compiled(random.plan), Replicas(random.plan), random.plan.microbatches)
                      : MeasuredPart{};
    const double window = report.period ? report.period->value() * static_cast<double>(part.last - part.first)
                                        : report.iterations.back().value();
    for (const DeviceReport& device : report.devices) {
      const TimeSplit& time = device.time;
      const double sum = (time.compute + time.recompute + time.exposed_communication + time.all_reduce +
                          time.collective_wait + time.update + time.idle)
                             .value();
      CHECK(sum == doctest::Approx(window).epsilon(1e-9));
    }
  }
}

TEST_CASE("lower: alternating replicas share the microbatches") {
  // Stage 0 on two devices: f = 1, b = 2 each; stage 1: f = 0.5, b = 1. Device 0 runs microbatches 0 and 2, device 1
  // runs 1 and 3; stage 1 runs all four and needs 6 of the time.
  LayerGraph graph = chain(2, 1, 2);
  graph.layers[LayerId(1)].forward = Seconds(0.5);
  graph.layers[LayerId(1)].backward = Seconds(1);
  Timeline timeline;
  const Report report = evaluate_plan(graph, pairwise(3), two_stages(2, 1, 4, "1f1b"), {}, {}, collect_into(timeline));
  for (const TimelineEntry* entry : of_kind(timeline, OpKind::Forward)) {
    if (entry->stage == StageId(0)) CHECK(entry->from.value() == entry->microbatch % 2);
  }
  CHECK(report.devices[0].busy == Seconds(6));
  CHECK(report.devices[1].busy == Seconds(6));
  CHECK(report.devices[2].busy == Seconds(6));
}

TEST_CASE("lower: between r and r' dividing replicas there are r + r' - gcd flows that carry each byte once") {
  for (std::size_t r : {1U, 2U, 3U, 4U}) {
    for (std::size_t s : {1U, 2U, 3U, 4U, 6U}) {
      Timeline timeline;
      const Plan plan = two_stages(r, s, 1, "gpipe", Replication::Split);
      const auto report = evaluate_plan(chain(2, 1, 2, 1200), pairwise(r + s), plan, {}, {}, collect_into(timeline));
      const auto flows = of_kind(timeline, OpKind::Activation);
      CHECK(flows.size() == r + s - std::gcd(r, s));
      Bytes sum;
      for (const TimelineEntry* flow : flows) sum += flow->bytes;
      CHECK(sum == Bytes(1200));
      CHECK(of_kind(timeline, OpKind::Gradient).size() == flows.size());
      CHECK(report.devices[0].time.compute.value() == doctest::Approx(3.0 / static_cast<double>(r)));
    }
  }
}

TEST_CASE("lower: the ring all-reduce takes 2(n-1) latencies and 2(n-1)/n of the bytes over its narrowest hop") {
  // One stage, three replicas, one microbatch each: f + b = 3 s, then 2*2*0.01 s + (4/3 * 3e9 B) / 1e9 B/s = 4.04 s.
  Plan plan = straight(1, 3, "gpipe");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1), DeviceId(2)};
  const Report report = evaluate_plan(chain(1, 1, 2, 0, 0, 3'000'000'000), pairwise(3, 1e9, 0.01), plan);
  CHECK(report.iterations.back().value() == doctest::Approx(3.0 + 4.0 + 0.04).epsilon(1e-12));
  for (const DeviceReport& device : report.devices) {
    CHECK(device.time.all_reduce.value() == doctest::Approx(4.04).epsilon(1e-12));  // with the latency of all steps
    CHECK(device.time.collective_wait.value() == doctest::Approx(0.0));
  }
}

TEST_CASE(
    "lower: nobody has the result of a ring before its slowest edge is done, and waiting for it is no idle time") {
  // Four replicas, f + b = 2 s, 1 MB of parameters. The edge gpu0 -> gpu1 has 1 MB/s and no latency, all others 100
  // MB/s and 10 ms: after 5 steps of 10 ms, 1.5 MB cross it in 1.5 s, and the others in 15 ms after their last latency.
  PlatformSpec spec = pairwise(4, 100e6, 0.01).spec;
  std::get<ExplicitForm>(spec.form).links = {
      {"", std::pair(DeviceId(0), DeviceId(1)), {BytesPerSecond(1e6), Seconds(0)}}};
  Plan plan = straight(1, 4, "gpipe");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1), DeviceId(2), DeviceId(3)};
  for (const double update : {0.0, 0.4}) {
    CAPTURE(update);
    if (update > 0.0) spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(4e6 / update);
    const Report report = evaluate_plan(chain(1, 1, 1, 0, 0, 1'000'000), build_platform(spec), plan);
    CHECK(report.iterations.back().value() == doctest::Approx(3.55 + update).epsilon(1e-12));
    for (const DeviceReport& device : report.devices) {
      const bool at_slow_edge = device.device.value() < 2;
      CHECK(device.time.compute.value() == doctest::Approx(2.0).epsilon(1e-12));
      CHECK(device.time.all_reduce.value() == doctest::Approx(at_slow_edge ? 1.55 : 0.075).epsilon(1e-12));
      CHECK(device.time.collective_wait.value() == doctest::Approx(at_slow_edge ? 0.0 : 1.475).epsilon(1e-12));
      CHECK(device.time.update.value() == doctest::Approx(update).epsilon(1e-12));
      CHECK(device.time.idle.value() == doctest::Approx(0.0));
    }
  }
}

TEST_CASE("lower: replicas without parameters exchange nothing") {
  for (const char* schedule : {"gpipe", "pipedream"}) {
    Plan plan = straight(1, 60, schedule);
    plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
    Timeline timeline;
    const Report report = evaluate_plan(chain(1, 1, 2), pairwise(2, 1e9, 0.5), plan, {}, {}, collect_into(timeline));
    CHECK(of_kind(timeline, OpKind::AllReduce).empty());
    CHECK(report.end == Seconds(90));
  }
}

TEST_CASE("lower: the update reads weights, gradients and optimizer state at the update bandwidth") {
  PlatformSpec spec = pairwise(2).spec;
  spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(100.0);
  const Platform platform = build_platform(std::move(spec));
  // 10 B of parameters, 1 + 1 + 2 copies: 0.4 s after the last backward of each device; the first device's ends last.
  const Report report = evaluate_plan(chain(2, 1, 2, 0, 0, 10), platform, straight(2, 2, "1f1b"));
  CHECK(report.iterations.back().value() == doctest::Approx(9.4).epsilon(1e-12));
  CHECK(report.devices[0].time.update.value() == doctest::Approx(0.4).epsilon(1e-12));
}

TEST_CASE("lower: recompute costs the segment's forward and keeps its checkpoint until then") {
  // One stage of three layers, f = 1, b = 2, stash 100 each; layers 1 and 2 are one segment with checkpoint 10.
  LayerGraph graph = chain(3, 1, 2, 0, 100);
  graph.layers[LayerId(1)].checkpoint = Bytes(10);
  Plan plan = straight(1, 2, "gpipe");
  plan.stages[0].layers = {LayerId(0), LayerId(1), LayerId(2)};
  plan.stages[0].memory = {Recompute{{LayerId(1), LayerId(2)}}};
  const Report report = evaluate_plan(graph, pairwise(1), plan);
  CHECK(report.iterations.back() == Seconds(2 * (3 + 2 + 6)));
  CHECK(report.recompute_time == Seconds(4));
  // Two microbatches in flight keep 2 * (100 + 10); the first recompute adds 200 - 10.
  CHECK(report.devices[0].memory.peak == Bytes(220 + 190));
  CHECK(report.devices[0].in_flight_peak == 2);
}

TEST_CASE("lower: a swapped stash leaves after its forward and is back before its backward") {
  // One device, gpipe, three microbatches, f = 1, b = 2, stash 1000 B swapped at 1000 B/s (1 s each way, no latency).
  PlatformSpec spec = pairwise(1).spec;
  std::get<ExplicitForm>(spec.form).devices[DeviceId(0)].host =
      HostSpec{Bytes(1'000'000), LinkSpec{BytesPerSecond(1000.0), Seconds(0)}, 1};
  Plan plan = straight(1, 3, "gpipe");
  plan.stages[0].memory = {Swap{{LayerId(0)}}};
  Timeline timeline;
  const Report report =
      evaluate_plan(chain(1, 1, 2, 0, 1000), build_platform(std::move(spec)), plan, {}, {}, collect_into(timeline));
  // Forwards 0-1, 1-2, 2-3; copies out 1-2, 2-3, 3-4. In again: microbatch 0 at once (2-3), so its backward runs 3-5;
  // microbatch 1 from when backward 0 could begin (3-4), microbatch 2 likewise from 5 (5-6). Backwards 3-5, 5-7, 7-9.
  CHECK(report.iterations.back() == Seconds(9));
  const auto in = of_kind(timeline, OpKind::SwapIn);
  REQUIRE(in.size() == 3);
  CHECK(in[0]->start == Seconds(2));
  CHECK(in[1]->start == Seconds(3));
  CHECK(in[2]->start == Seconds(5));
  // On the device at time 3: the stash of microbatch 2 (on its way out), 0 (fetched) and 1 (being fetched).
  CHECK(report.devices[0].memory.peak == Bytes(3000));
  REQUIRE(report.hosts.size() == 1);
  // In the host: microbatch 0 from 1 to 3, 1 from 2 to 4, 2 from 3 to 6; what ends frees first.
  CHECK(report.hosts[0].memory.peak == Bytes(2000));
}

TEST_CASE("lower: an all-reduce begins on time when a replica gets no microbatch, in windows of any size") {
  // Stage 0 on device 0, stage 1 by turns on devices 1 to 4, of which the last has none of the 3 microbatches. f = 1,
  // b = 4: on device 0 forwards from 0, 1 and 2, backwards from 6, 10 and 14; backwards of stage 1 from 2, 3 and 4. Its
  // all-reduce, 6/4 of 2e9 B at 1e9 B/s, goes from 8 to 11; the iteration ends at 18.
  const LayerGraph graph = chain(2, 1, 4, 0, 0, 2'000'000'000);
  // A change that changes nothing makes the engine take the heap, which looks no further ahead than it must.
  const Events events = {{Seconds(0), std::nullopt, Slowdown{DeviceId(0), 1.0}}};
  LowerOptions options;
  for (const std::size_t size : {1U, 2U, 3U, 1000U}) {
    CAPTURE(size);
    options.window_operations = size;
    Timeline timeline;
    const Report report = evaluate_plan(graph, pairwise(5, 1e9, 0.0), two_stages(1, 4, 3, "gpipe"), options, events,
                                        collect_into(timeline));
    const auto flows = of_kind(timeline, OpKind::AllReduce);
    CHECK(flows.size() == 4);
    for (const TimelineEntry* flow : flows) {
      CHECK(flow->start == Seconds(8));
      CHECK(flow->end == Seconds(11));
    }
    CHECK(report.iterations.back() == Seconds(18));
  }
}

// Orders of such a run come in segments, of which the last may hold nothing more for some stages.
TEST_CASE("lower: all-reduces of a long run with fixed orders begin on time in windows of any size") {
  const Events events = {{Seconds(0), std::nullopt, Slowdown{DeviceId(0), 1.0}}};  // takes the heap, as above
  for (const ScheduleFamily* family : testing::fixed_families()) {
    CAPTURE(family->name);
    const Plan plan = testing::fixed_plan({family->name, {}}, 4, 160, 2);
    const LayerGraph graph = chain(testing::layers_of(plan), 1, 2, 0, 0, 1'000'000'000);
    const auto run = [&](std::size_t size) {
      LowerOptions options;
      options.window_operations = size;
      Timeline timeline;
      static_cast<void>(evaluate_plan(graph, pairwise(8, 1e9, 0.0), plan, options, events, collect_into(timeline)));
      return timeline;
    };
    const Timeline whole = run(1'000'000);
    CHECK(run(1) == whole);
    CHECK(run(200) == whole);
  }
}

TEST_CASE("lower: an asynchronous run that is too short names the least number of microbatches") {
  const Plan plan = straight(4, 10, "pipedream");
  CHECK(testing::least_length(plan) == 2 * 10 + 1 + 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(lower(chain(4, 1, 2), pairwise(4), testing::compiled(plan))),
                       doctest::Contains("at least 22 microbatches"), InputError);
}

TEST_CASE("lower: asynchronous replicas exchange gradients after each round") {
  // Two replicas, f = 1, b = 2, all-reduce 2 s: the next backward waits for it, a forward overlaps it. Warm-up 0, so
  // each round is forward (1) and backward (2); the all-reduce ends 1 s after the next forward: a round takes 4 s.
  Plan plan = straight(1, 60, "pipedream");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  const Report report = evaluate_plan(chain(1, 1, 2, 0, 0, 2'000'000'000), pairwise(2, 1e9, 0.0), plan);
  REQUIRE(report.period.has_value());
  CHECK(report.period->value() == doctest::Approx(2.0).epsilon(1e-12));
  CHECK(report.devices[0].time.all_reduce.value() > 0.0);
}

TEST_CASE("lower: an analytic boundary carries one transfer at a time in either direction") {
  // f = b = 1, one transfer takes 2 s on the channel: with m = 3 the channel is the bottleneck.
  Plan plan = straight(2, 3, "gpipe");
  LowerOptions options;
  options.network = NetworkModel::Analytic;
  Timeline timeline;
  const Report report =
      evaluate_plan(chain(2, 1, 1, 2'000'000'000), pairwise(2, 1e9, 0.5), plan, options, {}, collect_into(timeline));
  // Activations 1-3, 3-5, 5-7; forwards of stage 1 3-4, 5-6, 7-8; its backwards 8-9, 9-10, 10-11; gradients 9-11,
  // 11-13, 13-15; last backward of stage 0 ends at 16. The latency is no part of the model.
  CHECK(report.iterations.back() == Seconds(16));
  CHECK(report.links.empty());
}

TEST_CASE("lower: several stages of one device run in one feasible order") {
  // Stages 0, 1, 2 on devices 0, 1, 0.
  Plan plan = straight(3, 6, "1f1b");
  plan.stages[2].replicas = {DeviceId(0)};
  for (const char* schedule : {"1f1b", "gpipe"}) {
    plan.schedule.name = schedule;
    const Report report = evaluate_plan(chain(3, 1, 2, 100, 10), pairwise(2), plan);
    CHECK(report.devices.size() == 2);
    CHECK(report.devices[0].stages.size() == 2);
    CHECK(report.devices[0].busy.value() == doctest::Approx(36).epsilon(1e-12));
    CHECK(report.devices[1].busy.value() == doctest::Approx(18).epsilon(1e-12));
  }
}

TEST_CASE("lower: a literal schedule that can never run names where it hangs") {
  const Plan plan = straight(1, 1, "literal");
  LowerOptions options;
  options.literal = Schedule{};
  Action backward;
  backward.kind = ActionKind::Backward;
  backward.stage = StageId(0);
  options.literal->devices = {{DeviceId(0), Discipline::Strict, {backward}}};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(evaluate_plan(chain(1, 1, 2), pairwise(1), plan, options)),
      doctest::Contains("the schedule deadlocks: gpu0 waits at the backward of microbatch 0 of stage 0"), InputError);
}

TEST_CASE("lower: an in-flight cap holds, downstream too") {
  Plan plan = straight(4, 12, "1f1b");
  plan.stages[0].in_flight = 2;
  const Report report = evaluate_plan(chain(4, 1, 2), pairwise(4), plan);
  CHECK(report.devices[0].in_flight_peak == 2);
  CHECK(report.devices[1].in_flight_peak == 2);
}

}  // namespace
}  // namespace stagecraft
