#include "sim/analytic/evaluate_plan.hpp"
#include "sim/analytic/lower_bound.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace stagecraft::divided_state_test {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

/// All layers as one stage on so many devices.
Plan replicated(const LayerGraph& graph, std::int64_t replicas, std::int64_t microbatches, std::int64_t zero) {
  Plan plan = straight(1, microbatches, "1f1b");
  plan.stages[0].layers.clear();
  plan.stages[0].replicas.clear();
  for (LayerId id : indices(graph.layers)) plan.stages[0].layers.push_back(id);
  for (std::int64_t i = 0; i < replicas; ++i) plan.stages[0].replicas.emplace_back(DeviceId(i));
  plan.training.zero = zero;
  return plan;
}

LayerGraph even(std::size_t layers, double forward, double backward, Bytes parameters) {
  LayerGraph graph = chain(layers, forward, backward);
  for (Layer& layer : graph.layers) layer.parameters = parameters;
  return graph;
}

double time_of(const LayerGraph& graph, const Platform& platform, const Plan& plan, std::int64_t iterations = 1) {
  LowerOptions options;
  options.iterations = iterations;
  return evaluate_plan(graph, platform, plan, options).iterations.back().value();
}

// The cases of docs/adr/0051-divided-state.md: weights of 2, gradients of 4 and an optimizer of 12 bytes.
TEST_CASE("divided state: weights, gradients and optimizer of Llama-3 8B on 8 replicas") {
  constexpr std::int64_t kParameters = 8'030'261'248;
  Training training;
  training.recipe = OptimizerRecipe::Mixed;
  training.gradient_copies = 2;
  training.optimizer_copies = 6;
  const std::vector<std::array<std::int64_t, 3>> expected = {{16'060'522'496, 32'121'044'992, 96'363'134'976},
                                                             {16'060'522'496, 32'121'044'992, 12'045'391'872},
                                                             {16'060'522'496, 4'015'130'624, 12'045'391'872},
                                                             {2'007'565'312, 4'015'130'624, 12'045'391'872}};
  for (std::int64_t zero = 0; zero <= 3; ++zero) {
    training.zero = zero;
    const StaticMemory kept = kept_state(training, {Bytes(2 * kParameters), 1, 8});
    const auto& [weights, gradients, optimizer] = expected[static_cast<std::size_t>(zero)];
    CHECK(kept == StaticMemory{Bytes(weights), Bytes(gradients), Bytes(optimizer), Bytes(0)});
  }
}

TEST_CASE("divided state: a part is a whole number of parameters") {
  Training training;  // of 4 bytes
  training.zero = 1;
  CHECK(divided(training, {Bytes(4 * 10), 1, 4}) == Bytes(4 * 3));
  CHECK(divided(training, {Bytes(4 * 10), 1, 1}) == Bytes(4 * 10));
  CHECK(divided(training, {Bytes(4 * 12), 1, 4}) == Bytes(4 * 3));
  CHECK(kept_state(training, {Bytes(40), 1, 4}).optimizer == Bytes(2 * 12));
}

// n replicas on links of their own for each pair: a half of a ring takes (n - 1)(latency + S / n / bandwidth).
TEST_CASE("divided state: without buckets gradients are reduced, a part is changed, and weights are gathered") {
  const LayerGraph graph = even(4, 1, 2, Bytes(250'000'000));
  for (const std::int64_t n : {2, 3, 5}) {
    CAPTURE(n);
    PlatformSpec spec = pairwise(static_cast<std::size_t>(n), 1e9, 0.01).spec;
    spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(1e9);
    const Platform platform = build_platform(std::move(spec));
    const double half = static_cast<double>(n - 1) * (0.01 + 1.0 / static_cast<double>(n));
    Plan plan = replicated(graph, n, 3 * n, 1);
    const double step = std::ceil(250e6 / static_cast<double>(n)) * 4 * 4 / 1e9;  // weights, gradients, two moments
    CHECK(time_of(graph, platform, plan) == doctest::Approx(36.0 + half + step + half).epsilon(1e-8));
    CHECK(time_of(graph, platform, plan, 3) == doctest::Approx(36.0 + half + step + half).epsilon(1e-8));
    plan.training.zero = 0;
    CHECK(time_of(graph, platform, plan) == doctest::Approx(36.0 + 2 * half + 4.0).epsilon(1e-8));
  }
}

/// Devices on one switch, 25 GB/s and 2 us from one to the next.
Platform one_switch(std::int64_t devices) { return pairwise(static_cast<std::size_t>(devices), 25e9, 2e-6); }

// Specification of parallel groups, case tm-zero1-rs-8-0.3: 2 GB of gradients in 10 buckets under a backward of 0.3 s
// end 0.307014 s after its begin. In front of it, each part of a forward of 10 ms waits for the gather of its bucket.
TEST_CASE("divided state: buckets are reduced under the backward and gathered under the next forward") {
  const double gather = 7 * 2e-6 + 7.0 / 8 * 200e6 / 25e9;  // 7.014 ms
  for (const double forward : {0.01, 0.005}) {
    const LayerGraph graph = even(10, forward, 0.03, Bytes(200'000'000));
    Plan plan = replicated(graph, 8, 8, 1);
    plan.training.gradient_bucket = Bytes(200'000'000);
    const double forwards = forward > gather ? gather + 10 * forward : 10 * gather + forward;
    const double expected = forwards + 0.3 + gather;
    CHECK(expected - forwards == doctest::Approx(0.307014).epsilon(1e-12));
    CHECK(time_of(graph, one_switch(8), plan) == doctest::Approx(expected).epsilon(1e-9));
    CHECK(time_of(graph, one_switch(8), plan, 4) == doctest::Approx(expected).epsilon(1e-9));
    plan.microbatches = 24;  // only the first forward waits, and only after the last backward are gradients reduced
    CHECK(time_of(graph, one_switch(8), plan) == doctest::Approx(expected + 20 * (forward + 0.03)).epsilon(1e-9));
  }
}

// The second stage of a device gathers after the end of the iteration before, too, and not with the first.
TEST_CASE("divided state: every iteration is like the first, also with several stages on a device") {
  const LayerGraph graph = even(4, 1, 2, Bytes(250'000'000));
  for (const std::int64_t zero : {1, 2, 3}) {
    CAPTURE(zero);
    Plan plan = straight(4, 8, "interleaved-1f1b");
    for (std::uint32_t s = 0; s < 4; ++s) plan.stages[s].replicas = {DeviceId(s % 2), DeviceId(s % 2 + 2)};
    plan.training.zero = zero;
    plan.training.gradient_bucket = Bytes(250'000'000);
    LowerOptions options;
    options.iterations = 4;
    const std::vector<Seconds> times = evaluate_plan(graph, pairwise(4, 1e9, 0.01), plan, options).iterations;
    REQUIRE(times.size() == 4);
    for (const Seconds time : times) CHECK(time.value() == doctest::Approx(times.front().value()).epsilon(1e-12));
  }
}

// Gradients that are divided are reduced after each of a replica's microbatches, layer by layer, one after the other.
TEST_CASE("divided state: gradients that are divided are reduced after every microbatch") {
  const double gather = 7 * 2e-6 + 7.0 / 8 * 200e6 / 25e9;
  for (const double backward : {0.03, 0.004}) {
    const LayerGraph graph = even(10, 0.0, backward, Bytes(200'000'000));
    const Plan plan = replicated(graph, 8, 24, 2);
    const double forwards = 10 * gather;
    double ready = forwards;
    double reduced = 0.0;
    for (int bucket = 0; bucket < 30; ++bucket) {
      ready += backward;
      reduced = std::max(reduced, ready) + gather;
    }
    CHECK(time_of(graph, one_switch(8), plan) == doctest::Approx(reduced).epsilon(1e-9));
  }
}

// Computing hides all gathers but the first of a forward, and all reduce-scatters but the last of a backward.
TEST_CASE("divided state: weights that are divided are gathered for every pass, one layer ahead") {
  const double exchange = 7 * 2e-6 + 7.0 / 8 * 200e6 / 25e9;  // of one layer's weights or gradients
  const LayerGraph graph = even(10, 0.01, 0.03, Bytes(200'000'000));
  for (const std::int64_t microbatches : {8, 24}) {
    const Plan plan = replicated(graph, 8, microbatches, 3);
    const double each = 10 * (0.01 + 0.03) + 2 * exchange;
    CHECK(time_of(graph, one_switch(8), plan) ==
          doctest::Approx(each * static_cast<double>(microbatches) / 8).epsilon(1e-9));
    CHECK(time_of(graph, one_switch(8), plan, 3) ==
          doctest::Approx(each * static_cast<double>(microbatches) / 8).epsilon(1e-9));
  }
}

/// The clocks of replicas in step: of what they exchange one after the other, and of their computations.
struct InStep {
  double ring = 0.0;
  double last = 0.0;    ///< the end of the last unit
  double before = 0.0;  ///< of the one before
  [[nodiscard]] double exchange(double after, double seconds) { return ring = std::max(ring, after) + seconds; }
  void compute(double after, double seconds) {
    before = last;
    last = std::max(last, after) + seconds;
  }
};

/// A pass of units with these times of gathering, computing and reducing.
void run_pass(InStep& run, const std::vector<std::array<double, 3>>& units) {
  std::vector<double> gathered = {run.exchange(run.before, units[0][0])};
  for (std::size_t at = 0; at < units.size(); ++at) {
    if (at + 1 < units.size()) gathered.push_back(run.exchange(run.last, units[at + 1][0]));
    run.compute(gathered[at], units[at][1]);
    if (units[at][2] > 0) static_cast<void>(run.exchange(run.last, units[at][2]));
  }
}

// Where exchanges take longer than computing, too.
TEST_CASE("divided state: gathers wait for each other and for the layer before last") {
  const double exchange = 7 * 2e-6 + 7.0 / 8 * 200e6 / 25e9;
  for (const double forward : {0.002, 0.005, 0.02}) {
    CAPTURE(forward);
    const LayerGraph graph = even(10, forward, 2 * forward, Bytes(200'000'000));
    InStep run;
    for (int microbatch = 0; microbatch < 3; ++microbatch) {
      run_pass(run, {10, {exchange, forward, 0.0}});
      run_pass(run, {10, {exchange, 2 * forward, exchange}});
    }
    CHECK(time_of(graph, one_switch(8), replicated(graph, 8, 24, 3)) == doctest::Approx(run.ring).epsilon(1e-9));
  }
}

// One device before three replicas of two layers, four microbatches of 1 s forward and 2 s backward for a layer;
// tensors take 0.012 s. The last forward of the first replica gathers its second layer when the last replica has
// computed that of its only forward, at 5.012 s. From then on: the gather x, the forward 1 s, both layers of its first
// backward 4 s, the gradients, and the backwards of all four microbatches on the first device.
TEST_CASE("divided state: a gather waits for replicas without a microbatch, too") {
  LayerGraph graph = even(3, 1, 2, Bytes(4'000'000));
  for (Layer& layer : graph.layers) layer.output = Bytes(100'000);
  for (LayerEdge& edge : graph.edges) edge.bytes = Bytes(100'000);
  Plan plan = straight(2, 4, "gpipe");
  plan.stages[0].layers = {LayerId(0)};
  plan.stages[1].layers = {LayerId(1), LayerId(2)};
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2), DeviceId(3)};
  plan.training.zero = 3;
  const double x = 2 * (0.002 + 4e6 / 3 / 1e7);
  CHECK(time_of(graph, pairwise(4, 1e7, 0.002), plan) == doctest::Approx(5.012 + x + 1 + 4 + 0.012 + 8).epsilon(1e-7));
  CHECK(time_of(graph, pairwise(4, 1e7, 0.002), plan, 2) ==
        doctest::Approx(5.012 + x + 1 + 4 + 0.012 + 8).epsilon(1e-7));
}

TEST_CASE("divided state: a segment that is recomputed gathers its weights together") {
  const double exchange = 7 * 2e-6 + 7.0 / 8 * 200e6 / 25e9;
  const LayerGraph graph = even(4, 0.01, 0.02, Bytes(200'000'000));
  Plan plan = replicated(graph, 8, 8, 3);
  plan.stages[0].memory = {Recompute{{LayerId(1), LayerId(2)}}};
  InStep run;
  run_pass(run, {4, {exchange, 0.01, 0.0}});
  // Layer 3; layers 2 and 1, gathered one after the other, recomputed for 0.02 s; layer 0.
  const double third = run.exchange(run.before, exchange);
  const double segment = run.exchange(run.exchange(run.last, exchange), exchange);
  run.compute(third, 0.02);
  static_cast<void>(run.exchange(run.last, exchange));
  const double begin = run.last;
  const double first = run.exchange(begin, exchange);
  run.compute(segment, 0.04);
  const double second_reduced = run.exchange(run.last, exchange);
  run.compute(0.0, 0.02);
  CHECK(second_reduced < run.last);
  static_cast<void>(run.exchange(run.last, exchange));
  run.compute(first, 0.02);
  static_cast<void>(run.exchange(run.last, exchange));
  const Report report = evaluate_plan(graph, one_switch(8), plan);
  CHECK(report.end.value() == doctest::Approx(run.ring).epsilon(1e-9));
  const Bytes layer(200'000'000);  // gathered: two units of two layers; reduced: two layers
  CHECK(report.devices.front().memory.breakdown[static_cast<std::size_t>(MemoryCategory::Buffers)] == layer * 6);
}

TEST_CASE("divided state: the peak of a device has its part, and buffers for what is whole for a while") {
  const LayerGraph graph = even(10, 1, 2, Bytes(4 * 1001));
  const auto peak = [&](std::int64_t zero) {
    const Report report = evaluate_plan(graph, one_switch(4), replicated(graph, 4, 4, zero));
    std::vector<std::int64_t> bytes;
    for (const Bytes kept : report.devices.front().memory.breakdown) bytes.push_back(kept.value());
    bytes.resize(3);
    bytes.push_back(report.devices.front().memory.peak.value() - bytes[0] - bytes[1] - bytes[2]);
    return bytes;
  };
  const std::int64_t whole = 4 * 10'010;
  const std::int64_t part = 4 * 2503;  // 10,010 parameters in four parts
  const std::vector<std::int64_t> kept = peak(0);
  const std::int64_t rest = kept[3];
  CHECK(kept == std::vector<std::int64_t>{whole, whole, 2 * whole, rest});
  CHECK(peak(1) == std::vector<std::int64_t>{whole, whole, 2 * part, rest});
  CHECK(peak(2) == std::vector<std::int64_t>{whole, part, 2 * part, rest + 2 * 4 * 1001});
  CHECK(peak(3) == std::vector<std::int64_t>{part, part, 2 * part, rest + 4 * 4 * 1001});
}

/// What a run sends from each place, by kind.
std::map<std::pair<OpKind, PlaceId>, Bytes> sent(const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  Timeline timeline;
  static_cast<void>(evaluate_plan(graph, platform, plan, {}, {}, collect_into(timeline)));
  std::map<std::pair<OpKind, PlaceId>, Bytes> bytes;
  for (const TimelineEntry& entry : timeline) {
    if (is_ring_flow(entry.kind)) bytes[{entry.kind, entry.from}] += entry.bytes;
  }
  return bytes;
}

TEST_CASE("divided state: a reduce-scatter and an all-gather carry what an all-reduce does") {
  const LayerGraph graph = even(5, 1, 2, Bytes(40'000));
  for (const std::int64_t bucket : {0, 40'000, 100'000}) {
    Plan plan = replicated(graph, 4, 4, 0);
    plan.training.gradient_bucket = Bytes(bucket);
    const auto whole = sent(graph, one_switch(4), plan);
    plan.training.zero = 1;
    const auto halves = sent(graph, one_switch(4), plan);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const Bytes all = whole.at({OpKind::AllReduce, PlaceId(i)});
      CHECK(halves.at({OpKind::ReduceScatter, PlaceId(i)}) + halves.at({OpKind::AllGather, PlaceId(i)}) == all);
      CHECK(!halves.contains({OpKind::AllReduce, PlaceId(i)}));
    }
  }
}

/// Whether each ring exchanges the k-th microbatches of its replicas after those before them.
bool are_in_order(const Timeline& timeline) {
  std::map<std::pair<StageId, PlaceId>, std::vector<std::uint32_t>> had;  // microbatches, in the order of backwards
  std::map<std::pair<StageId, std::uint32_t>, std::size_t> number;        // of a microbatch, at its replica
  std::map<std::pair<StageId, PlaceId>, std::vector<std::pair<Seconds, std::size_t>>> reduced;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != OpKind::Backward) continue;
    std::vector<std::uint32_t>& own = had[{entry.stage, entry.from}];
    if (std::ranges::find(own, entry.microbatch) != own.end()) continue;
    number[{entry.stage, entry.microbatch}] = own.size();
    own.push_back(entry.microbatch);
  }
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != OpKind::ReduceScatter) continue;
    reduced[{entry.stage, entry.from}].emplace_back(entry.start, number.at({entry.stage, entry.microbatch}));
  }
  for (auto& [where, rounds] : reduced) {
    std::ranges::stable_sort(rounds, {}, &std::pair<Seconds, std::size_t>::first);
    if (!std::ranges::is_sorted(rounds, {}, &std::pair<Seconds, std::size_t>::second)) return false;
  }
  return true;
}

TEST_CASE("divided state: microbatches are reduced in the order of their replicas, some of which are ahead") {
  std::int64_t uneven = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    testing::RandomCase random = testing::random_case(seed, {Sharing::Fair, true, false});
    random.plan.schedule.name = seed % 2 == 0 ? "gpipe" : "1f1b";
    for (Stage& stage : random.plan.stages) stage.in_flight.reset();
    for (Layer& layer : random.graph.layers) layer.parameters = Bytes(1'000'000);
    random.plan.training.zero = 2;
    Timeline timeline;
    static_cast<void>(evaluate_plan(random.graph, random.platform, random.plan, {}, {}, collect_into(timeline)));
    CHECK(are_in_order(timeline));
    for (const Stage& stage : random.plan.stages) {
      const std::int64_t turns = alternating_replicas(stage);
      if (turns > 1 && random.plan.microbatches % turns != 0) ++uneven;
    }
  }
  CHECK(uneven > 30);
}

TEST_CASE("divided state: no run is faster than its lower bound, and nothing changes for devices alone") {
  std::int64_t tried = 0;
  for (std::uint32_t seed = 1; seed <= testing::random_cases(600U); ++seed) {
    CAPTURE(seed);
    testing::RandomCase random = testing::random_case(seed, {Sharing::Fair, true, true});
    if (random.plan.schedule.name == "pipedream") continue;
    for (Layer& layer : random.graph.layers) layer.parameters = layer.parameters * 400'000;
    const Report whole = evaluate_plan(random.graph, random.platform, random.plan);
    for (const std::int64_t zero : {1, 2, 3}) {
      CAPTURE(zero);
      if (zero == 3 && !testing::run_together(random.plan)) continue;
      random.plan.training.zero = zero;
      const Report report = evaluate_plan(random.graph, random.platform, random.plan);
      const auto bound = lower_bound(random.graph, random.platform,
                                     require_schedule(random.graph, random.platform, random.plan), {{}, false});
      REQUIRE(bound.has_value());
      CHECK(bound->time.value() <= report.iterations.back().value() * (1 + 1e-9));
      for (std::size_t i = 0; i < whole.devices.size(); ++i) {
        CHECK(report.devices[i].in_flight_peak == whole.devices[i].in_flight_peak);
        CHECK(report.devices[i].time.compute.value() ==
              doctest::Approx(whole.devices[i].time.compute.value()).epsilon(1e-9));
      }
      ++tried;
      const auto is_alone = [](const Stage& stage) { return stage.replicas.size() == 1; };
      if (!std::ranges::all_of(random.plan.stages, is_alone)) continue;
      CHECK(report.end == whole.end);
      CHECK(report.operations == whole.operations);
    }
  }
  CHECK(tried > 50);
}

TEST_CASE("divided state: only runs that flush divide it") {
  const LayerGraph graph = even(2, 1, 2, Bytes(40));
  Plan plan = replicated(graph, 2, 8, 1);
  plan.schedule.name = "pipedream";
  CHECK_THROWS_WITH_AS(static_cast<void>(require_schedule(graph, one_switch(2), plan)),
                       doctest::Contains("does not flush"), InputError);
}

}  // namespace
}  // namespace stagecraft::divided_state_test
