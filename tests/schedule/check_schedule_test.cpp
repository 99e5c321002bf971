#include "sim/schedule/check_schedule.hpp"

#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/io/schedule_file.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using testing::chain;
using testing::pairwise;
using testing::straight;

using Sentences = std::vector<std::string>;

Schedule orders(const std::string& body, const Platform& platform) {
  return parse_schedule("schema: stagecraft/schedule/1\n" + body, "orders", platform);
}

/// The sentences about orders for a chain over `devices`, with a stage and two microbatches on each.
Sentences judge(const std::string& body, std::size_t devices = 2) {
  const Platform platform = pairwise(devices);
  return check_schedule(chain(devices, 1, 2), platform, straight(devices, 2, "literal"), orders(body, platform));
}

Report run(const std::string& body, const LayerGraph& graph, const Platform& platform, const Plan& plan) {
  LowerOptions options;
  options.literal = orders(body, platform);
  REQUIRE(check_schedule(graph, platform, plan, *options.literal) == Sentences{});
  return evaluate_plan(graph, platform, plan, options);
}

const std::string kWhole = "devices: {gpu0: [F0.0..1, B0.0..1], gpu1: [F1.0, B1.0, F1.1, B1.1]}\n";

TEST_CASE("check schedule: a complete order passes") {
  CHECK(judge(kWhole) == Sentences{});
  CHECK(judge("devices: {gpu0: [F0.0, F0.1+B0.0, I0.1, W0.1], gpu1: [F1.0, B1.0, F1.1, B1.1]}") == Sentences{});
  CHECK(judge("devices: {gpu0: {discipline: ready, order: [B0.0..1, F0.0..1]}, gpu1: [F1.0, B1.0, F1.1, B1.1]}") ==
        Sentences{});
  CHECK(judge(kWhole + "channels: {0->1: [A0, A1, G0, G1]}") == Sentences{});
  CHECK(judge(kWhole + "channels: {0->1: {discipline: ready, order: [G1]}}") == Sentences{});
}

TEST_CASE("check schedule: what stands in the wrong place or twice") {
  const std::string rest = ", gpu1: [F1.0, B1.0, F1.1, B1.1]}";
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0..1, F2.0]" + rest) ==
        Sentences{"gpu0 has the forward of microbatch 0 of stage 2, but the plan has only 2 stages, counted from 0"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0..1, F1.0]" + rest) ==
        Sentences{"gpu0 has the forward of microbatch 0 of stage 1, but that stage is not on this device"});
  CHECK(judge("devices: {gpu0: [F0.0..2, B0.0..1]" + rest) ==
        Sentences{
            "gpu0 has the forward of microbatch 2 of stage 0, but the plan has only 2 microbatches, counted from 0"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0..1, B0.1]" + rest) ==
        Sentences{"gpu0 has the backward of microbatch 1 of stage 0 more than once"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0..1, W0.1]" + rest) ==
        Sentences{"gpu0 has the backward of microbatch 1 of stage 0 both whole and in halves"});
}

TEST_CASE("check schedule: each of two pipelines has microbatches of its own") {
  const Platform platform = pairwise(2);
  Plan plan = straight(2, 3, "literal");  // stage 1, the same layer, is the second pipeline
  plan.stages[1].layers = plan.stages[0].layers;
  plan.stages[1].pipeline = 1;
  const auto judged = [&](const std::string& body) {
    return check_schedule(chain(1, 1, 2), platform, plan, orders(body, platform));
  };
  CHECK(judged("devices: {gpu0: [F0.0, B0.0, F0.2, B0.2], gpu1: [F1.1, B1.1]}") == Sentences{});
  CHECK(judged("devices: {gpu0: [F0.0, B0.0, F0.2, B0.2], gpu1: [F1.1, B1.1, F1.2]}") ==
        Sentences{"gpu1 has the forward of microbatch 2 of stage 1 in pipeline 1, but that microbatch runs in pipeline "
                  "0: microbatches go to the 2 pipelines in turn"});
  CHECK(judged("devices: {gpu0: [F0.0, B0.0], gpu1: [F1.1, B1.1]}") ==
        Sentences{"gpu0 lacks the forward and the backward of microbatch 2 of stage 0"});
}

TEST_CASE("check schedule: a channel lists the microbatches of its pipeline") {
  const Platform platform = pairwise(4);
  Plan plan = straight(4, 3, "literal");  // two pipelines of two stages
  for (std::size_t s = 2; s < 4; ++s) {
    plan.stages[s].layers = plan.stages[s - 2].layers;
    plan.stages[s].pipeline = 1;
  }
  const auto judged = [&](const std::string& channel) {
    const std::string devices =
        "devices: {gpu0: [F0.0, B0.0, F0.2, B0.2], gpu1: [F1.0, B1.0, F1.2, B1.2], gpu2: [F2.1, B2.1], "
        "gpu3: [F3.1, B3.1]}\n";
    return check_schedule(chain(2, 1, 2), platform, plan, orders(devices + "channels: {" + channel + "}", platform));
  };
  CHECK(judged("0->1: [A0, G0, A2, G2], 2->3: [A1, G1]") == Sentences{});
  CHECK(judged("0->1: [A0, G0, G2]") == Sentences{"channel 0->1 lacks the activation of microbatch 2"});
  CHECK(judged("2->3: [A1, G1, A2]") ==
        Sentences{"channel 2->3 lists the activation of microbatch 2 in pipeline 1, but that microbatch runs in "
                  "pipeline 0: microbatches go to the 2 pipelines in turn"});
}

TEST_CASE("check schedule: what is lacking") {
  const std::string rest = ", gpu1: [F1.0, B1.0, F1.1, B1.1]}";
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0]" + rest) ==
        Sentences{"gpu0 lacks the backward of microbatch 1 of stage 0"});
  CHECK(judge("devices: {gpu0: [F0.0, B0.0..1]" + rest) ==
        Sentences{"gpu0 lacks the forward of microbatch 1 of stage 0"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0, I0.1]" + rest) ==
        Sentences{"gpu0 lacks the backward-weight of microbatch 1 of stage 0"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0, W0.1]" + rest) ==
        Sentences{"gpu0 lacks the backward-input of microbatch 1 of stage 0"});
  CHECK(judge("devices: {gpu0: [F0.0..1, B0.0..1]}") ==
        Sentences{"gpu1 lacks the forward and the backward of microbatch 0 of stage 1, and of 1 more"});
}

TEST_CASE("check schedule: strict orders that run against themselves") {
  const std::string rest = ", gpu1: [F1.0, B1.0, F1.1, B1.1]}";
  CHECK(judge("devices: {gpu0: [B0.0, F0.0..1, B0.1]" + rest) ==
        Sentences{"gpu0 has the backward of microbatch 0 of stage 0 before its forward"});
  CHECK(judge("devices: {gpu0: [F0.0..1, W0.0, I0.0, B0.1]" + rest) ==
        Sentences{"gpu0 has the backward-weight of microbatch 0 of stage 0 before its backward-input"});
}

TEST_CASE("check schedule: replicas run their own microbatches only") {
  const Platform platform = pairwise(2);
  Plan plan = straight(1, 3, "literal");
  plan.stages[0].replicas = {DeviceId(0), DeviceId(1)};
  const auto judged = [&](const std::string& body) {
    return check_schedule(chain(1, 1, 2), platform, plan, orders(body, platform));
  };
  CHECK(judged("devices: {gpu0: [F0.0, B0.0, F0.2, B0.2], gpu1: [F0.1, B0.1]}") == Sentences{});
  CHECK(judged("devices: {gpu0: [F0.0, B0.0, F0.2, B0.2], gpu1: [F0.1, B0.1, F0.2]}") ==
        Sentences{"gpu1 has the forward of microbatch 2 of stage 0, but that microbatch runs on gpu0"});
  CHECK(judged("devices: {gpu0: [F0.2, B0.2], gpu1: [F0.1, B0.1]}") ==
        Sentences{"gpu0 lacks the forward and the backward of microbatch 0 of stage 0"});
  plan.stages[0].replication = Replication::Split;
  plan.microbatch_size = 2;
  CHECK(judged("devices: {gpu0: [F0.0..2, B0.0..2], gpu1: [F0.0..2, B0.0..2]}") == Sentences{});
}

TEST_CASE("check schedule: caps on microbatches in flight") {
  const Platform platform = pairwise(2);
  Plan plan = straight(2, 2, "literal");
  plan.stages[0].in_flight = 1;
  const Schedule schedule = orders(kWhole, platform);
  CHECK(check_schedule(chain(2, 1, 2), platform, plan, schedule) ==
        Sentences{"gpu0 has 2 microbatches of stage 0 in flight, more than its cap of 1"});
}

TEST_CASE("check schedule: channels") {
  CHECK(judge(kWhole + "channels: {1->0: [A0..1, G0..1]}") ==
        Sentences{"channel 1->0 does not lead from a stage to one that uses its tensors"});
  CHECK(judge(kWhole + "channels: {0->1: [A0, G0..1]}") ==
        Sentences{"channel 0->1 lacks the activation of microbatch 1"});
  CHECK(judge(kWhole + "channels: {0->1: [A0..2, G0..1, G1]}") ==
        Sentences{
            "channel 0->1 lists the activation of microbatch 2, but the plan has only 2 microbatches, counted from 0",
            "channel 0->1 lists the gradient of microbatch 1 more than once"});
  CHECK(judge("transfers: rendezvous\n" + kWhole + "channels: {0->1: [A0..1, G0..1]}") ==
        Sentences{"channels cannot have orders if transfers are rendezvous"});
}

TEST_CASE("check schedule: explicit transfers have one send and one receive each") {
  const std::string marks =
      "devices: {gpu0: [F0.0, SA0.0, F0.1, SA0.1, RG0.0, B0.0, RG0.1, B0.1], "
      "gpu1: [RA1.0, F1.0, B1.0, SG1.0, RA1.1, F1.1, B1.1, SG1.1]}\n";
  CHECK(judge("transfers: explicit\n" + marks) == Sentences{});
  CHECK(judge(marks) == Sentences{});  // they are a stream
  CHECK(judge("transfers: eager\n" + marks) ==
        Sentences{"gpu0 has sends or receives, but transfers are eager, not explicit, stream or blocking",
                  "gpu1 has sends or receives, but transfers are eager, not explicit, stream or blocking"});
  CHECK(judge("transfers: explicit\n" + kWhole).size() == 8);
  std::string early = marks;
  early.replace(early.find("F0.0, SA0.0"), 11, "SA0.0, F0.0");
  CHECK(judge("transfers: explicit\n" + early) ==
        Sentences{"gpu0 has the send-activation of microbatch 0 of stage 0 before its forward"});
  std::string surplus = marks;
  surplus.replace(surplus.find("B0.1]"), 5, "B0.1, SG0.1]");
  CHECK(judge("transfers: explicit\n" + surplus) ==
        Sentences{"gpu0 has the send-gradient of microbatch 1 of stage 0, but nothing is transferred there"});
}

TEST_CASE("check schedule: orders that it passes run, and an order that waits for itself is refused by lower") {
  // f = 1, b = 2, 1 s for each of the tensors of 10^9 bytes at 1 GB/s.
  const LayerGraph graph = chain(2, 1, 2, 1'000'000'000);
  const Platform platform = pairwise(2);
  const Plan plan = straight(2, 2, "literal");
  // gpu1: F 2..3, B 3..5, F 5..6, B 6..8; gpu0: gradients arrive at 6 and 9: B 6..8, 9..11.
  CHECK(run(kWhole, graph, platform, plan).iterations.back() == Seconds(11));
  // With both forwards first: F 2..3, 3..4, B 4..6, 6..8: the same end.
  const std::string gpipe = "devices: {gpu0: [F0.0..1, B0.0..1], gpu1: [F1.0..1, B1.0..1]}\n";
  CHECK(run(gpipe, graph, platform, plan).iterations.back() == Seconds(11));
  // One transfer at a time: A0 1..2, A1 2..3 as before, but G0 (ready at 5) waits for nothing: no change; G first
  // would wait for itself.
  CHECK(run(kWhole + "channels: {0->1: [A0, A1, G0, G1]}", graph, platform, plan).iterations.back() == Seconds(11));
  CHECK_THROWS_WITH_AS(static_cast<void>(run(kWhole + "channels: {0->1: [G0, A0, A1, G1]}", graph, platform, plan)),
                       doctest::Contains("the schedule deadlocks"), InputError);
  // A given duration counts, whatever the model says: F 0..1, 1..2; F 2..3, B 3..5, F 5..6, B 6..9; 10..12.
  const std::string longer =
      "devices: {gpu0: [F0.0..1, B0.0..1], gpu1: [F1.0, B1.0, F1.1, {op: B1.1, duration: 3 s}]}\n";
  CHECK(run(longer, graph, platform, plan).iterations.back() == Seconds(12));
}

}  // namespace
}  // namespace stagecraft
