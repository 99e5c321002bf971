// The tensors that one device sends another are a queue, in both engines.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/schedule/random_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

/// The end of an iteration whose stages are one layer each, by a recurrence: a device keeps its order, and the bytes
/// of a tensor leave its sender for a receiver when those of the one before have arrived there.
class Recurrence {
 public:
  Recurrence(const LayerGraph& graph, const Plan& plan, double bandwidth, double latency)
      : graph_(graph), plan_(plan), bandwidth_(bandwidth), latency_(latency) {}

  double end_of(const Schedule& orders) {
    std::map<DeviceId, std::size_t> next;
    for (bool goes_on = true; goes_on;) {
      goes_on = false;
      for (const DeviceOrder& order : orders.devices) {
        std::size_t& at = next[order.device];
        for (; at < order.actions.size() && run(order.device, order.actions[at]); ++at) goes_on = true;
      }
    }
    for (const DeviceOrder& order : orders.devices) CHECK(next[order.device] == order.actions.size());
    double end = 0;
    for (const auto& [device, free] : free_) end = std::max(end, free);
    return end;
  }

 private:
  [[nodiscard]] DeviceId device_of(std::size_t stage) const { return devices_of(plan_.stages[stage]).front(); }

  /// Whether the action's input is known; then it has run.
  bool run(DeviceId device, const Action& action) {
    const bool backward = action.kind == ActionKind::Backward;
    const std::size_t stage = action.stage.value();
    const std::size_t last = plan_.stages.size() - 1;
    double input = 0;
    if (stage != (backward ? last : 0)) {
      const auto found = arrivals_.find({backward, stage, action.microbatch});
      if (found == arrivals_.end()) return false;
      input = found->second;
    }
    const Layer& layer = graph_.layers[LayerId(stage)];
    double& free = free_[device];
    free = std::max(free, input) + (backward ? layer.backward : layer.forward).value();
    if (stage == (backward ? 0 : last)) return true;
    const std::size_t to = backward ? stage - 1 : stage + 1;
    const double bytes = static_cast<double>(graph_.layers[LayerId(std::min(stage, to))].output.value());
    arrivals_[{backward, to, action.microbatch}] = arrival(device, device_of(to), free, bytes);
    return true;
  }

  double arrival(DeviceId from, DeviceId to, double sent, double bytes) {
    if (from == to) return sent;
    double& last = last_[{from, to}];
    last = std::max(sent + latency_, last) + bytes / bandwidth_;
    return last;
  }

  const LayerGraph& graph_;
  const Plan& plan_;
  double bandwidth_;
  double latency_;
  std::map<DeviceId, double> free_;
  std::map<std::pair<DeviceId, DeviceId>, double> last_;  ///< the last arrival from one device at another
  std::map<std::tuple<bool, std::size_t, std::uint32_t>, double> arrivals_;
};

/// Forwards of 10 ms, backwards of 20 ms, tensors of 100 MB.
LayerGraph hundred_megabytes(std::size_t layers) {
  LayerGraph graph = chain(layers, 0.01, 0.02, 100'000'000);
  graph.layers.back().output = Bytes(0);
  return graph;
}

// In order the activations arrive at 30, 50, 70 and 90 ms, and the gradients at 140, 160, 180 and 200 ms.
TEST_CASE("connections: GPipe on a link that takes twice a forward for a tensor") {
  const LayerGraph graph = hundred_megabytes(2);
  const Platform platform = pairwise(2, 5e9);
  const Plan plan = straight(2, 4, "gpipe");
  Timeline timeline;
  const Report report = evaluate_plan(graph, platform, plan, {}, {}, collect_into(timeline));
  CHECK(report.iterations.back().value() == doctest::Approx(0.22).epsilon(1e-12));
  CHECK(replay_plan(graph, platform, plan).report.iterations.back().value() == doctest::Approx(0.22).epsilon(1e-12));
  std::vector<double> arrivals;
  for (const TimelineEntry& entry : timeline) {
    if (is_transfer(entry.kind)) arrivals.push_back(entry.end.value());
  }
  std::ranges::sort(arrivals);
  const std::vector<double> expected{0.03, 0.05, 0.07, 0.09, 0.14, 0.16, 0.18, 0.2};
  REQUIRE(arrivals.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(arrivals[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

TEST_CASE("connections: both engines run chains as a recurrence with queues says, seeds 1 to 200") {
  std::size_t waited = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto pick = [&](std::uint32_t low, std::uint32_t high) { return low + random() % (high - low + 1); };
    const std::size_t devices = pick(2, 5);
    const std::size_t chunks = seed % 4 == 0 ? 2 : 1;
    const char* const schedule = chunks == 2 ? "interleaved-1f1b" : (seed % 4 == 1 ? "gpipe" : "1f1b");
    const std::int64_t microbatches = chunks == 2 ? std::int64_t(devices * pick(1, 4)) : pick(1, 14);
    Plan plan = straight(devices * chunks, microbatches, schedule);
    for (std::size_t s = 0; s < plan.stages.size(); ++s) plan.stages[s].replicas = {DeviceId(s % devices)};
    LayerGraph graph = chain(plan.stages.size(), 1, 2);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(pick(1, 20) * 1e-3);
      layer.backward = Seconds(pick(1, 40) * 1e-3);
      layer.output = Bytes(pick(1, 60) * 1'000'000);
    }
    for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
    const double latency = pick(0, 3) * 1e-3;
    const Platform platform = pairwise(devices, 1e9, latency);
    CAPTURE(seed);
    const ScheduleProgram program = require_schedule(graph, platform, plan);
    const double expected = Recurrence(graph, plan, 1e9, latency).end_of(program.orders({0, microbatches}));
    const double evaluated = evaluate_program(graph, platform, program).iterations.back().value();
    CHECK(evaluated == doctest::Approx(expected).epsilon(1e-12));
    const double replayed = replay_program(graph, platform, program).report.iterations.back().value();
    CHECK(replayed == doctest::Approx(expected).epsilon(1e-9));
    const double alone = Recurrence(graph, plan, 1e15, latency).end_of(program.orders({0, microbatches}));
    waited += expected > alone * 1.01 ? 1 : 0;
  }
  CHECK(waited > 150);  // the links are slow
}

/// Checks that of two tensors from one place to another, on one leg, the later one starts after the other has ended.
/// Returns the number of those that follow another one at once.
std::size_t check_order(const Timeline& timeline) {
  std::map<std::tuple<PlaceId, PlaceId, Leg>, std::vector<std::pair<Seconds, Seconds>>> sent;
  for (const TimelineEntry& entry : timeline) {
    if (entry.kind != OpKind::Activation && entry.kind != OpKind::Gradient) continue;
    sent[{entry.from, entry.to, entry.leg}].emplace_back(entry.start, entry.end);
  }
  std::size_t follow = 0;
  for (auto& [ways, spans] : sent) {
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) {
      CHECK(spans[i].first >= spans[i - 1].second);
      follow += spans[i].first == spans[i - 1].second ? 1 : 0;
    }
  }
  return follow;
}

TEST_CASE("connections: no two tensors from one device to another are under way at once, seeds 1 to 120") {
  std::size_t follow = 0;
  for (std::uint32_t seed = 1; seed <= 120; ++seed) {
    testing::RandomCase random = testing::random_case(seed, {Sharing::Fair, true, true, 1.0});
    if (seed % 3 == 0) {
      PlatformSpec spec = random.platform.spec;
      spec.transport = Transport::Host;
      random.platform = build_platform(std::move(spec));
    }
    CAPTURE(seed);
    Timeline evaluated;
    static_cast<void>(evaluate_plan(random.graph, random.platform, random.plan, {}, {}, collect_into(evaluated)));
    follow += check_order(evaluated);
    ReplayOptions options;
    options.record = RecordPart::All;
    check_order(replay_plan(random.graph, random.platform, random.plan, {}, {}, options).record.timeline);
  }
  CHECK(follow > 100);
}

}  // namespace
}  // namespace stagecraft
