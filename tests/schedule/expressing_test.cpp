// Each construct of docs/explanation/expressing.md as a plan with a schedule written out, lowered, evaluated and
// compared with times by hand.

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

Action action(ActionKind kind, std::uint32_t stage, std::uint32_t microbatch) {
  Action result;
  result.kind = kind;
  result.stage = StageId(stage);
  result.microbatch = microbatch;
  return result;
}
Action forward(std::uint32_t stage, std::uint32_t microbatch) { return action(ActionKind::Forward, stage, microbatch); }
Action backward(std::uint32_t stage, std::uint32_t microbatch) {
  return action(ActionKind::Backward, stage, microbatch);
}
Action joined(Action second) {
  second.joined = true;
  return second;
}
Action lasting(Action what, double seconds) {
  what.duration = Seconds(seconds);
  return what;
}
Action not_before(Action what, double seconds) {
  what.not_before = Seconds(seconds);
  return what;
}

/// One layer a stage; `places` says on which device each stage runs.
Plan literal_plan(const std::vector<std::uint32_t>& places, std::int64_t microbatches) {
  Plan plan = straight(places.size(), microbatches, "literal");
  for (std::size_t i = 0; i < places.size(); ++i) plan.stages[i].replicas = {DeviceId(places[i])};
  plan.training = {0, 0, 0, 0.0};
  return plan;
}
Schedule orders(const std::vector<std::vector<Action>>& actions, Discipline discipline = Discipline::Strict) {
  Schedule schedule;
  for (std::uint32_t i = 0; i < actions.size(); ++i) {
    schedule.devices.push_back({DeviceId(i), discipline, actions[i]});
  }
  return schedule;
}

std::string letter(OpKind kind) {
  static const std::map<OpKind, std::string> letters = {
      {OpKind::Forward, "F"},        {OpKind::Backward, "B"},   {OpKind::BackwardInput, "I"},
      {OpKind::BackwardWeight, "W"}, {OpKind::Recompute, "R"},  {OpKind::ForwardBackward, "FB"},
      {OpKind::Activation, "a"},     {OpKind::Gradient, "g"},   {OpKind::SwapOut, "out"},
      {OpKind::SwapIn, "in"},        {OpKind::AllReduce, "ar"}, {OpKind::Post, "post"}};
  const auto found = letters.find(kind);
  return found == letters.end() ? "" : found->second;
}

struct Result {
  Report report;
  std::string picture;  ///< `F0.1 2-3`: stage 0, microbatch 1; by start, then by kind, stage and microbatch
};

Result evaluated(const LayerGraph& graph, const Platform& platform, const Plan& plan, const Schedule& schedule,
                 const Events& events = {}, LowerOptions options = {}) {
  options.literal = schedule;
  Timeline timeline;
  Result result;
  result.report = evaluate_plan(graph, platform, plan, options, events, collect_into(timeline));
  std::ranges::sort(timeline, {}, [](const TimelineEntry& entry) {
    return std::tuple(entry.start, entry.kind, entry.stage, entry.microbatch);
  });
  for (const TimelineEntry& entry : timeline) {
    if (letter(entry.kind).empty()) continue;
    std::array<char, 80> text{};
    std::snprintf(text.data(), text.size(), "%s%s%u.%u %.12g-%.12g%s", result.picture.empty() ? "" : ", ",
                  letter(entry.kind).c_str(), entry.stage.value(), entry.microbatch, entry.start.value(),
                  entry.end.value(), entry.aborted ? "!" : "");
    result.picture += text.data();
  }
  return result;
}

TEST_CASE("expressing: several stages on one device") {
  // A V: stages 0 and 3 on gpu0, 1 and 2 on gpu1; f = 1, b = 2; 1 byte at 1 B/s between the devices.
  const Plan plan = literal_plan({0, 1, 1, 0}, 1);
  const Schedule schedule = orders({{forward(0, 0), forward(3, 0), backward(3, 0), backward(0, 0)},
                                    {forward(1, 0), forward(2, 0), backward(2, 0), backward(1, 0)}});
  const Result result = evaluated(chain(4, 1, 2, 1), pairwise(2, 1), plan, schedule);
  CHECK(result.picture ==
        "F0.0 0-1, a0.0 1-2, F1.0 2-3, F2.0 3-4, a2.0 4-5, F3.0 5-6, B3.0 6-8, g3.0 8-9, B2.0 9-11, B1.0 11-13, "
        "g1.0 13-14, B0.0 14-16");
  CHECK(result.report.devices[0].stages == std::vector{StageId(0), StageId(3)});
}

TEST_CASE("expressing: two pipelines in opposite directions over one device") {
  // Stages 0, 1 run down from gpu0 with microbatch 0; stages 2, 3, the same layers, up from gpu1 with microbatch 1.
  Plan plan = literal_plan({0, 1, 1, 0}, 2);
  plan.stages[2].layers = {LayerId(0)};
  plan.stages[3].layers = {LayerId(1)};
  plan.stages[2].pipeline = plan.stages[3].pipeline = 1;
  const Schedule schedule = orders({{forward(0, 0), forward(3, 1), backward(3, 1), backward(0, 0)},
                                    {forward(2, 1), forward(1, 0), backward(1, 0), backward(2, 1)}});
  const Result result = evaluated(chain(2, 1, 2, 0, 0, 8), pairwise(2, 8), plan, schedule);
  // Then each layer's two copies exchange gradients: 2 (n - 1) / n of 8 bytes at 8 B/s, both ways, 1 s.
  CHECK(result.picture ==
        "F0.0 0-1, F2.1 0-1, F1.0 1-2, F3.1 1-2, a0.0 1-1, a2.1 1-1, B1.0 2-4, B3.1 2-4, B0.0 4-6, B2.1 4-6, g1.0 4-4, "
        "g3.1 4-4, ar1.0 4-5, ar1.0 4-5, ar0.0 6-7, ar0.0 6-7");
}

TEST_CASE("expressing: a backward in two halves, each with its own releases") {
  const auto input_half = [](std::uint32_t stage, std::uint32_t k) {
    return action(ActionKind::BackwardInput, stage, k);
  };
  const auto weight_half = [](std::uint32_t stage, std::uint32_t k) {
    return action(ActionKind::BackwardWeight, stage, k);
  };
  const Schedule one = orders(
      {{forward(0, 0), input_half(0, 0), weight_half(0, 0)}, {forward(1, 0), input_half(1, 0), weight_half(1, 0)}});
  // Each half takes b / 2 = 1.5; the gradient leaves between the two.
  CHECK(evaluated(chain(2, 1, 3, 0, 8), pairwise(2), literal_plan({0, 1}, 1), one).picture ==
        "F0.0 0-1, F1.0 1-2, a0.0 1-1, I1.0 2-3.5, I0.0 3.5-5, W1.0 3.5-5, g1.0 3.5-3.5, W0.0 5-6.5");
  // A quarter of the 8 bytes is free after the input half, so the second forward finds 6 in use.
  Plan plan = literal_plan({0}, 2);
  plan.training.input_gradient_release = 0.25;
  const Schedule two = orders(
      {{forward(0, 0), input_half(0, 0), forward(0, 1), input_half(0, 1), weight_half(0, 0), weight_half(0, 1)}});
  const Result result = evaluated(chain(1, 1, 3, 0, 8), pairwise(1), plan, two);
  CHECK(result.report.devices[0].memory.peak == Bytes(14));
  CHECK(result.report.devices[0].memory.peak_at == Seconds(2.5));
  CHECK(result.report.devices[0].in_flight_peak == 2);
  // Of 7 bytes 5.25 are kept until the weight half, that is 6 whole ones; 7 more come with the second forward.
  CHECK(evaluated(chain(1, 1, 3, 0, 7), pairwise(1), plan, two).report.devices[0].memory.peak == Bytes(13));
  plan.training.input_gradient_release = 0.9;  // of 10 bytes exactly 1 is kept
  CHECK(evaluated(chain(1, 1, 3, 0, 10), pairwise(1), plan, two).report.devices[0].memory.peak == Bytes(11));
}

TEST_CASE("expressing: a replica without a microbatch still takes part in the all-reduce") {
  // Three replicas, two microbatches; 3 bytes: 2 * 2 / 3 of them over each hop at 4 B/s.
  Plan plan = literal_plan({0}, 2);
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1), DeviceId(2)};
  const Schedule schedule = orders({{forward(0, 0), backward(0, 0)}, {forward(0, 1), backward(0, 1)}, {}});
  CHECK(evaluated(chain(1, 1, 2, 0, 0, 3), pairwise(3, 4), plan, schedule).picture ==
        "F0.0 0-1, F0.1 0-1, B0.0 1-3, B0.1 1-3, ar0.0 3-4, ar0.0 3-4, ar0.0 3-4");
}

TEST_CASE("expressing: an overlapped pair, with a duration of its own") {
  const Plan plan = literal_plan({0}, 2);
  const Schedule schedule =
      orders({{forward(0, 0), lasting(forward(0, 1), 2.5), joined(backward(0, 0)), backward(0, 1)}});
  const Result result = evaluated(chain(1, 1, 2, 0, 8), pairwise(1), plan, schedule);
  CHECK(result.picture == "F0.0 0-1, FB0.1 1-3.5, B0.1 3.5-5.5");
  CHECK(result.report.devices[0].memory.peak == Bytes(16));
  CHECK(result.report.devices[0].in_flight_peak == 2);
}

TEST_CASE("expressing: recompute segments and swap") {
  // Layers of f = 1, b = 2, stash 8: the first is swapped over a host link of 8 B/s, the second one recomputed.
  PlatformSpec spec = pairwise(1).spec;
  std::get<ExplicitForm>(spec.form).devices[DeviceId(0)].host =
      HostSpec{Bytes(100), LinkSpec{BytesPerSecond(8), Seconds(0)}, 1};
  Plan plan = literal_plan({0}, 1);
  plan.stages[0].layers = {LayerId(0), LayerId(1)};
  plan.stages[0].memory = {Swap{{LayerId(0)}}, Recompute{{LayerId(1)}}};
  const Result result =
      evaluated(chain(2, 1, 2, 0, 8), build_platform(spec), plan, orders({{forward(0, 0), backward(0, 0)}}));
  // Forward of both 0-2, out 2-3, in 3-4. The second layer does not wait for it: recompute 2-3, backward 3-5; first
  // 5-7.
  CHECK(result.picture == "F0.0 0-2, R0.0 2-3, out0.0 2-3, B0.0 3-5, in0.0 3-4, B0.0 5-7");
  REQUIRE(result.report.hosts.size() == 1);
  CHECK(result.report.hosts[0].memory.peak == Bytes(8));
}

TEST_CASE("expressing: given starts, as of a periodic pattern") {
  const Plan plan = literal_plan({0}, 2);
  const Schedule schedule = orders({{forward(0, 0), not_before(backward(0, 0), 1.5), not_before(forward(0, 1), 4),
                                     not_before(backward(0, 1), 5.5)}});
  CHECK(evaluated(chain(1, 1, 2), pairwise(1), plan, schedule).picture ==
        "F0.0 0-1, B0.0 1.5-3.5, F0.1 4-5, B0.1 5.5-7.5");
}

TEST_CASE("expressing: priorities among ready operations instead of an order") {
  // gpu1 takes the backward before the next forward because its priority is smaller, whatever the order listed.
  const Plan plan = literal_plan({0, 1}, 2);
  Schedule schedule = orders({{forward(0, 0), forward(0, 1), backward(0, 0), backward(0, 1)},
                              {forward(1, 0), forward(1, 1), backward(1, 0), backward(1, 1)}});
  schedule.devices[1].discipline = Discipline::Ready;
  for (Action& step : schedule.devices[1].actions) step.priority = step.kind == ActionKind::Backward ? -1 : 0;
  CHECK(evaluated(chain(2, 1, 2), pairwise(2), plan, schedule).picture ==
        "F0.0 0-1, F0.1 1-2, F1.0 1-2, a0.0 1-1, B1.0 2-4, a0.1 2-2, F1.1 4-5, B0.0 4-6, g1.0 4-4, B1.1 5-7, B0.1 7-9, "
        "g1.1 7-7");
}

TEST_CASE("expressing: an iteration ends with all backwards of a device that takes what is ready") {
  // Microbatch 1 runs on a fast replica of stage 1, so gpu0 runs its backward first; that of microbatch 0 ends at 24.
  Plan plan = literal_plan({0, 1}, 2);
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  Schedule schedule = orders({{forward(0, 0), forward(0, 1), backward(0, 0), backward(0, 1)},
                              {forward(1, 0), lasting(backward(1, 0), 20)},
                              {forward(1, 1), backward(1, 1)}});
  schedule.devices[0].discipline = Discipline::Ready;
  LowerOptions twice;
  twice.iterations = 2;
  const Report report = evaluated(chain(2, 1, 2), pairwise(3), plan, schedule, {}, twice).report;
  CHECK(report.iterations == std::vector{Seconds(24), Seconds(24)});
  CHECK(report.devices[0].busy == Seconds(6));
}

TEST_CASE("expressing: update and all-reduce wait for the backward that ends last, in whatever order they are listed") {
  // As above with parameters of 6 bytes, which an update at 3 B/s takes 2 s for. gpu0 has run both backwards at 24.
  Plan plan = literal_plan({0, 1}, 2);
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  Schedule schedule = orders({{forward(0, 0), forward(0, 1), backward(0, 0), backward(0, 1)},
                              {forward(1, 0), lasting(backward(1, 0), 20)},
                              {forward(1, 1), backward(1, 1)}});
  schedule.devices[0].discipline = Discipline::Ready;
  Platform platform = pairwise(4, 6);
  platform.spec.device_kinds[DeviceKindId(0)].update_bandwidth = BytesPerSecond(3);
  const LayerGraph graph = chain(2, 1, 2, 0, 0, 6);
  CHECK(evaluated(graph, build_platform(platform.spec), plan, schedule).report.iterations.back() == Seconds(26));
  // Both stages on two devices: gpu0 and gpu1 run microbatches 0 and 2, and gpu1 the backward of 2 first, from 3 to 5.
  // So gpu0 ends with that of 0, at 27. A ring of two sends 6 bytes at 6 B/s, then comes the update.
  plan = literal_plan({0, 1}, 4);
  plan.stages[0].replicas = {DeviceId(0), DeviceId(3)};
  plan.stages[1].replicas = {DeviceId(1), DeviceId(2)};
  schedule = orders({{forward(0, 0), forward(0, 2), backward(0, 0), backward(0, 2)},
                     {forward(1, 0), forward(1, 2), backward(1, 2), lasting(backward(1, 0), 20)},
                     {forward(1, 1), forward(1, 3), backward(1, 1), backward(1, 3)},
                     {forward(0, 1), forward(0, 3), backward(0, 1), backward(0, 3)}});
  schedule.devices[0].discipline = Discipline::Ready;
  CHECK(evaluated(graph, build_platform(platform.spec), plan, schedule).report.iterations.back() == Seconds(30));
}

TEST_CASE("expressing: an order, or priorities, for each channel") {
  // Activations of 4 bytes at 2 B/s come faster than the channel takes them. Strict: 0, 1, 2; ready: 2 before 1.
  const Plan plan = literal_plan({0, 1}, 3);
  Schedule schedule =
      orders({{forward(0, 0), forward(0, 1), forward(0, 2), backward(0, 0), backward(0, 1), backward(0, 2)},
              {forward(1, 0), forward(1, 1), forward(1, 2), backward(1, 0), backward(1, 1), backward(1, 2)}});
  ChannelOrder channel{{{StageId(0), StageId(1)}}, Discipline::Strict, {}};
  for (std::uint32_t k = 0; k < 3; ++k) channel.actions.push_back({false, k == 2 ? -1 : 0, k, Seconds(0)});
  for (std::uint32_t k = 0; k < 3; ++k) channel.actions.push_back({true, 0, k, Seconds(0)});
  channel.actions[0].not_before = Seconds(1.5);
  schedule.channels = {channel};
  const auto activations = [&] {
    const std::string picture = evaluated(chain(2, 1, 2, 4), pairwise(2, 2), plan, schedule).picture;
    std::string found;
    for (std::size_t at = picture.find("a0."); at != std::string::npos; at = picture.find("a0.", at + 1)) {
      found += picture.substr(at, picture.find(',', at) - at) + ", ";
    }
    return found;
  };
  CHECK(activations() == "a0.0 1.5-3.5, a0.1 3.5-5.5, a0.2 5.5-7.5, ");
  schedule.channels[0].discipline = Discipline::Ready;
  CHECK(activations() == "a0.0 1.5-3.5, a0.2 3.5-5.5, a0.1 5.5-7.5, ");
}

TEST_CASE("expressing: sends that wait for their receive") {
  // gpu1 comes to its second forward at 4: with rendezvous the second activation (1 s) starts then.
  const Plan plan = literal_plan({0, 1}, 2);
  Schedule schedule = orders({{forward(0, 0), forward(0, 1), backward(0, 0), backward(0, 1)},
                              {forward(1, 0), backward(1, 0), forward(1, 1), backward(1, 1)}});
  const LayerGraph graph = chain(2, 1, 2, 1);
  CHECK(evaluated(graph, pairwise(2, 1), plan, schedule).picture ==
        "F0.0 0-1, F0.1 1-2, a0.0 1-2, F1.0 2-3, a0.1 2-3, B1.0 3-5, F1.1 5-6, g1.0 5-6, B0.0 6-8, B1.1 6-8, g1.1 8-9, "
        "B0.1 9-11");
  schedule.transfers = Transfers::Rendezvous;
  // The gradients are asked for when gpu0 has come to its backwards: at 2, and at 9.
  CHECK(
      evaluated(graph, pairwise(2, 1), plan, schedule).picture ==
      "F0.0 0-1, F0.1 1-2, a0.0 1-2, F1.0 2-3, B1.0 3-5, a0.1 5-6, g1.0 5-6, F1.1 6-7, B0.0 6-8, B1.1 7-9, g1.1 9-10, "
      "B0.1 10-12");
}

TEST_CASE("expressing: sends and receives that stand in the orders") {
  // gpu1 receives only after 2 s of its own; the transfer waits for both ends.
  const Plan plan = literal_plan({0, 1}, 1);
  Schedule schedule = orders({{forward(0, 0), action(ActionKind::SendActivation, 0, 0),
                               action(ActionKind::ReceiveGradient, 0, 0), backward(0, 0)},
                              {not_before(action(ActionKind::ReceiveActivation, 1, 0), 2), forward(1, 0),
                               backward(1, 0), action(ActionKind::SendGradient, 1, 0)}});
  schedule.transfers = Transfers::Explicit;
  CHECK(
      evaluated(chain(2, 1, 2, 1), pairwise(2, 1), plan, schedule).picture ==
      "F0.0 0-1, post0.0 1-1, post0.0 1-1, post1.0 2-2, a0.0 2-3, F1.0 3-4, B1.0 4-6, post1.0 6-6, g1.0 6-7, B0.0 7-9");
}

TEST_CASE("expressing: durations given literally") {
  const Plan plan = literal_plan({0}, 1);
  const Schedule schedule = orders({{lasting(forward(0, 0), 0.25), lasting(backward(0, 0), 7)}});
  CHECK(evaluated(chain(1, 1, 2), pairwise(1), plan, schedule).picture == "F0.0 0-0.25, B0.0 0.25-7.25");
}

TEST_CASE("expressing: weight versions and copies of the training state") {
  Plan plan = literal_plan({0}, 1);
  plan.stages[0].weight_versions = 3;
  plan.training = {1, 2, 0, 0.0};
  const Result result =
      evaluated(chain(1, 1, 2, 0, 8, 100), pairwise(1), plan, orders({{forward(0, 0), backward(0, 0)}}));
  CHECK(result.report.devices[0].memory.breakdown ==
        MemoryBreakdown{Bytes(300), Bytes(100), Bytes(200), Bytes(8), Bytes(0), Bytes(0)});
}

TEST_CASE("expressing: speeds, bandwidths and failures strike a lowered run as any other") {
  const Plan plan = literal_plan({0, 1}, 1);
  const Schedule schedule = orders({{forward(0, 0), backward(0, 0)}, {forward(1, 0), backward(1, 0)}});
  const Events events = {{Seconds(0), 0U, Slowdown{DeviceId(0), 2.0}},
                         {Seconds(3), std::nullopt, BandwidthChange{LinkId(0), BytesPerSecond(0.5)}},
                         {Seconds(8), std::nullopt, Failure{DeviceId(1), Seconds(1)}}};
  // F0 2 s; 2 bytes: one by 3, the other takes 2 s; F1 aborted after 1 of 1.5 s, again 9-10.5; B1 3 s, gradient 2 s.
  CHECK(evaluated(chain(2, 1.5, 3, 2), pairwise(2, 1), plan, schedule, events).picture ==
        "F0.0 0-3, a0.0 3-7, F1.0 7-8!, F1.0 9-10.5, B1.0 10.5-13.5, g1.0 13.5-15.5, B0.0 15.5-21.5");
}

}  // namespace
}  // namespace stagecraft
