#include "sim/io/plan_file.hpp"

#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace stagecraft;

namespace {

/// A chain of five layers l0 … l4 and four devices gpu0 … gpu3.
struct Inputs {
  LayerGraph graph;
  Platform platform;
};

Inputs inputs() {
  std::string model = "schema: stagecraft/model/1\nmodel: m\ndevice: A\nmicrobatch_size: 32\nlayers:\n";
  for (int i = 0; i < 5; ++i) {
    model += "  - {name: l" + std::to_string(i) + ", forward: 1 s, backward: 2 s, parameters: 4 B, output: 8 B}\n";
  }
  const char* platform = R"(
schema: stagecraft/platform/1
platform: p
device_kinds: {A: {memory: 1 GiB}}
node_kinds: {n: {devices: {kind: A, count: 4}, interconnect: {type: switch, bandwidth: 1 GBps, latency: 0}}}
nodes: {kind: n, count: 1}
)";
  return {parse_model(model, "m.yaml").profiles.at(0), build_platform(parse_platform(platform, "p.yaml"))};
}

constexpr const char* kPlan = R"(
schema: stagecraft/plan/1
planner: dawnpiper
model: m
platform: p
model_hash: aa
platform_hash: bb
microbatch_size: 32
microbatches: 16
schedule: {name: interleaved-1f1b, chunks: 2, fraction: 0.5, whole: 2.0, label: "7", strict: true, list: [1, [x]]}
training: {gradient_copies: 2, optimizer_copies: 0, boundary_buffers: 1, input_gradient_release: 0.25,
           gradient_bucket: 25 MiB, stash: input, zero: 3}
stages:
  - layers: {from: l0, to: l2}
    devices: [gpu1, gpu0]
    replication: split
    shares: [3, 1]
    recompute: [{layers: [l1], microbatches: {first: 3, of: 8}}, {layers: [l2]}, l0]
    swap: [{layers: [l2], prefetch: false}, {layers: [l1], microbatches: {first: 2, of: 8}}]
    swap_backlog: 0
    ring: [gpu0, gpu1]
    weight_versions: 2
    in_flight: 3
    pipeline: 1
  - {layers: [l4, l3], devices: [gpu3]}
pipeline_shares: [2, 1]
pattern:
  period: 0.014 s
  release: asap
  operations: [{stage: 0, op: forward, start: 0 s, shift: 0}, {cut: 0, op: backward, start: 2 ms, shift: 3}]
predicted: {iteration_time: 0.71 s, period: 41.3 ms, peak_memory: {gpu0: 12025908428 B, gpu3: 1 KiB}}
)";

using Layers = std::vector<LayerId>;

Layers layers(std::initializer_list<int> numbers) {
  Layers result;
  for (int number : numbers) result.emplace_back(number);
  return result;
}

}  // namespace

TEST_CASE("plan file: every key") {
  const Inputs in = inputs();
  const PlanReading reading = parse_plan(kPlan, "plan.yaml", in.graph, in.platform);
  CHECK(reading.problems.empty());
  const Plan& plan = reading.plan;
  CHECK(plan.planner == "dawnpiper");
  CHECK(plan.model_hash == "aa");
  CHECK(plan.platform_hash == "bb");
  CHECK(plan.microbatch_size == 32);
  CHECK(plan.microbatches == 16);
  CHECK(plan.schedule.name == "interleaved-1f1b");
  CHECK(plan.schedule.parameters == Detail::Record{{"chunks", 2},
                                                   {"fraction", 0.5},
                                                   {"whole", 2.0},
                                                   {"label", "7"},
                                                   {"strict", true},
                                                   {"list", Detail::List{1, Detail::List{"x"}}}});
  CHECK(plan.training == Training{2, 0, 1, 0.25, Bytes(25 << 20), StashConvention::Input, std::nullopt, 3});
  REQUIRE(plan.stages.size() == 2);
  const Stage& first = plan.stages[0];
  CHECK(first.layers == layers({0, 1, 2}));
  CHECK(first.replicas == std::vector<Group>{DeviceId(1), DeviceId(0)});
  CHECK(first.replication == Replication::Split);
  CHECK(first.memory == std::vector<MemoryAction>{Recompute{layers({1}), {3, 8}}, Recompute{layers({2})},
                                                  Recompute{layers({0})}, Swap{layers({1}), true, {2, 8}},
                                                  Swap{layers({2}), false}});
  CHECK(first.ring == std::vector<std::uint32_t>{1, 0});
  CHECK(first.swap_backlog == 0);
  CHECK(first.weight_versions == 2);
  CHECK(first.in_flight == 3);
  CHECK(first.pipeline == 1);
  const Stage& second = plan.stages[1];
  CHECK(second.layers == layers({3, 4}));  // canonical order, however written
  CHECK(second.replication == Replication::RoundRobin);
  CHECK_FALSE(second.weight_versions.has_value());
  REQUIRE(plan.pattern.has_value());
  CHECK_FALSE(plan.pattern->timed);
  CHECK(plan.pattern->operations ==
        std::vector<PatternOperation>{{false, 0, false, Seconds(0), 0}, {true, 0, true, Seconds(0.002), 3}});
  CHECK(plan.predicted.iteration_time == Seconds(0.71));
  CHECK(plan.predicted.period == Seconds(0.0413));
  CHECK(plan.predicted.peak_memory ==
        std::vector<std::pair<DeviceId, Bytes>>{{DeviceId(0), Bytes(12025908428)}, {DeviceId(3), Bytes(1024)}});
}

TEST_CASE("plan file: YAML and JSON read back to an equal plan") {
  const Inputs in = inputs();
  const Plan plan = parse_plan(kPlan, "plan.yaml", in.graph, in.platform).plan;
  for (const std::string& text :
       {write_plan_yaml(plan, in.graph, in.platform), plan_to_json(plan, in.graph, in.platform),
        to_json(plan_record(plan, in.graph, in.platform), -1), to_json(plan_record(plan, in.graph, in.platform), 1)}) {
    CAPTURE(text);
    const PlanReading again = parse_plan(text, "again", in.graph, in.platform);
    CHECK(again.problems.empty());
    CHECK(again.plan == plan);
  }
}

TEST_CASE("plan file: replicas of several devices are lists, or names that follow each other") {
  const Inputs in = inputs();
  const auto read = [&](const std::string& devices, const std::string& groups) {
    const std::string text = "schema: stagecraft/plan/1\nmicrobatch_size: 32\nmicrobatches: 4\n" + groups +
                             "schedule: {name: gpipe}\nstages:\n  - {layers: {from: l0, to: l4}, devices: " + devices +
                             "}\n";
    return parse_plan(text, "plan.yaml", in.graph, in.platform);
  };
  const std::string pairs = "groups: {tensor: 2, sequence: false, vocabulary_multiple: 128}\n";
  Group first;
  first.devices = {DeviceId(1), DeviceId(0)};
  Group second;
  second.devices = {DeviceId(2), DeviceId(3)};
  const Plan plan = read("[[gpu1, gpu0], [gpu2, gpu3]]", pairs).plan;
  CHECK(plan.degrees == Degrees{2, false, 128});
  CHECK(plan.stages.front().replicas == std::vector<Group>{first, second});
  CHECK(read("[gpu1, gpu0, gpu2, gpu3]", pairs).plan == plan);
  CHECK(parse_plan(write_plan_yaml(plan, in.graph, in.platform), "again", in.graph, in.platform).plan == plan);
  CHECK(parse_plan_header(write_plan_yaml(plan, in.graph, in.platform), "again").degrees == plan.degrees);
  CHECK_THROWS_WITH_AS(read("[gpu1, gpu0, gpu2]", pairs), doctest::Contains("groups of 2 devices"), InputError);
  CHECK_THROWS_WITH_AS(read("[gpu1, [gpu2, gpu3]]", pairs), doctest::Contains("found another group"), InputError);
  CHECK_THROWS_AS(read("[[]]", pairs), InputError);
  CHECK(read("[[gpu0, gpu1]]", "").plan.degrees == Degrees());  // `check_plan` tells
  CHECK(read("[gpu0]", "groups: {tensor: 1, sequence: false}\n").plan.degrees == Degrees());
}

TEST_CASE("plan file: groups say how they divide tokens and experts") {
  const Inputs in = inputs();
  const auto degrees = [&](const std::string& groups) {
    return parse_plan_header("schema: stagecraft/plan/1\nmicrobatch_size: 4\ngroups: " + groups + "\n", "plan").degrees;
  };
  Degrees both{.tensor = 4, .sequence = false, .context = 2};
  both.attention = ContextAttention::AllToAll;
  both.expert = 16;  // two members with samples of their own
  both.imbalance = 1.25;
  CHECK(degrees("{tensor: 4, sequence: false, context: 2, attention: all-to-all, expert: 16, imbalance: 1.25}") ==
        both);
  CHECK(both.devices() == 16);
  CHECK(degrees("{tensor: 4, sequence: false, context: 2, attention: all-to-all, expert: 16, capacity: 1.25}") == both);
  Plan plan = parse_plan(kPlan, "plan.yaml", in.graph, in.platform).plan;
  const auto written = [&](const Degrees& of) {
    plan.degrees = of;
    const std::string text = write_plan_yaml(plan, in.graph, in.platform);
    CHECK(parse_plan_header(text, "again").degrees == of);
    CHECK(parse_plan_header(plan_to_json(plan, in.graph, in.platform), "again").degrees == of);
    const std::size_t begin = text.find("groups: ");
    return begin == std::string::npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  };
  CHECK(written(both) ==
        "groups: {tensor: 4, sequence: false, context: 2, attention: all-to-all, expert: 16, imbalance: 1.25}");
  CHECK(written(degrees("{context: 2, attention: ring}")) == "groups: {context: 2}");
  CHECK(written(degrees("{expert: 8, capacity: none, imbalance: 1.1}")) == "groups: {expert: 8, imbalance: 1.1}");
  CHECK(written(degrees("{tensor: 8, expert: 8}")) == "groups: {tensor: 8, sequence: true, expert: 8}");
  CHECK(written(Degrees()).empty());
}

TEST_CASE("plan file: what groups do not have is left out") {
  const auto degrees = [&](const std::string& groups) {
    return parse_plan_header("schema: stagecraft/plan/1\nmicrobatch_size: 4\ngroups: " + groups + "\n", "plan").degrees;
  };
  CHECK(degrees("{context: 1, attention: all-gather, expert: 1, imbalance: 2, vocabulary_multiple: 128}") == Degrees());
  CHECK(degrees("{tensor: 2, context: 1, attention: all-gather, imbalance: 2}") == Degrees{.tensor = 2});
  CHECK(degrees("{expert: 2, sequence: false}") == degrees("{expert: 2}"));
}

TEST_CASE("plan file: degrees that make no group are refused") {
  const auto refusal = [&](const std::string& groups) -> std::string {
    try {
      static_cast<void>(
          parse_plan_header("schema: stagecraft/plan/1\nmicrobatch_size: 4\ngroups: " + groups + "\n", "p"));
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(refusal("{tensor: 32, context: 16}") ==
        "p:3:9: groups: tensor 32 and context 16 make groups of 512 devices, which have at most 256");
  CHECK(refusal("{tensor: 4, expert: 6}") ==
        "p:3:9: groups: expert 6 does not divide the 4 devices of tensor 4 and context 1, nor is a multiple of them");
  CHECK(refusal("{context: 2, attention: rings}").find("unknown value 'rings'") != std::string::npos);
  CHECK(refusal("{expert: 2, imbalance: 0.5}").find("expected a number from 1 to 256") != std::string::npos);
  CHECK(refusal("{expert: 2, capacity: some}").find("groups.capacity") != std::string::npos);
  CHECK(refusal("{expert: 2, imbalance: 1.5, capacity: 1.5}").find("not both") != std::string::npos);
}

TEST_CASE("plan file: plain names make groups of all of a group's devices, in the order of ranks") {
  const Inputs in = inputs();
  const std::string text =
      "schema: stagecraft/plan/1\nmicrobatch_size: 32\nmicrobatches: 4\ngroups: {context: 2, expert: 4}\n"
      "schedule: {name: gpipe}\nstages:\n  - {layers: {from: l0, to: l4}, devices: [gpu3, gpu1, gpu0, gpu2]}\n";
  const Plan plan = parse_plan(text, "plan.yaml", in.graph, in.platform).plan;
  CHECK(plan.degrees.samples() == 2);
  Group all;
  all.devices = {DeviceId(3), DeviceId(1), DeviceId(0), DeviceId(2)};
  CHECK(plan.stages.front().replicas == std::vector<Group>{all});
}

TEST_CASE("plan file: the header is read without the model and the platform") {
  CHECK(parse_plan_header(kPlan, "plan.yaml") ==
        PlanHeader{"dawnpiper", "m", "p", "aa", "bb", 32, StashConvention::Input});
  const PlanHeader bare = parse_plan_header("schema: stagecraft/plan/1\nmicrobatch_size: 4\n", "plan.yaml");
  CHECK(bare == PlanHeader{"", "", "", "", "", 4});
}

TEST_CASE("plan file: unknown layers and devices and empty ranges are listed, not thrown") {
  const Inputs in = inputs();
  const PlanReading reading = parse_plan(R"(schema: stagecraft/plan/1
microbatch_size: 32
microbatches: 4
schedule: {name: 1f1b}
stages:
  - {layers: [l0, layer1], devices: [gpu0, gpu9], recompute: [l7]}
  - {layers: {from: l4, to: l2}, devices: [gpu1]}
  - {layers: {from: l3, to: x}, devices: [gpu2]}
predicted: {peak_memory: {tpu: 1 B}}
)",
                                         "plan.yaml", in.graph, in.platform);
  std::string problems;
  for (const InputError& problem : reading.problems) problems += std::string(problem.what()) + "\n";
  CHECK(problems ==
        "plan.yaml:6:19: stages[0].layers[1]: the model 'm' has no layer 'layer1' (known: l0, l1, l2, l3, l4)\n"
        "plan.yaml:6:44: stages[0].devices[1]: the platform 'p' has no device 'gpu9' (did you mean 'gpu0'? "
        "known: "
        "gpu0, gpu1, gpu2, gpu3)\n"
        "plan.yaml:6:63: stages[0].recompute[0]: the model 'm' has no layer 'l7' (did you mean 'l0'? known: l0, l1, "
        "l2, l3, l4)\n"
        "plan.yaml:7:14: stages[1].layers: the range is empty: 'from' comes after 'to' in the canonical order\n"
        "plan.yaml:8:29: stages[2].layers.to: the model 'm' has no layer 'x' (known: l0, l1, l2, l3, l4)\n"
        "plan.yaml:9:32: predicted.peak_memory.tpu: the platform 'p' has no device 'tpu' (known: gpu0, gpu1, gpu2, "
        "gpu3)\n");
  REQUIRE(reading.plan.stages.size() == 3);
  CHECK(reading.plan.stages[0].layers == layers({0}));
  CHECK(reading.plan.stages[1].layers.empty());
}

TEST_CASE("plan file: of very many names that are unknown a thousand are told") {
  const Inputs in = inputs();
  std::string text = "schema: stagecraft/plan/1\nmicrobatch_size: 32\nmicrobatches: 4\nschedule: {name: 1f1b}\n";
  text += "stages:\n  - {layers: [l0], devices: [gpu0], recompute: [&a [x, x, x, x, x, x, x, x, x, x]";
  for (int i = 1; i < 200; ++i) text += ", *a";
  text += "]}\n";
  const PlanReading reading = parse_plan(text, "plan.yaml", in.graph, in.platform);
  REQUIRE(reading.problems.size() == 1001);
  CHECK(
      std::string(reading.problems[999].what()).find(": stages[0].recompute[99][9]: the model 'm' has no layer 'x'") !=
      std::string::npos);
  CHECK(reading.problems.back().message() == "and more problems");
}

TEST_CASE("json: figures show what is not known as null") {
  const Inputs in = inputs();
  Figures figures;
  figures.iteration_time = Seconds(0.71);
  figures.peak_memory = {{DeviceId(2), Bytes(5)}};
  CHECK(to_json(figures_record(figures, in.platform), -1) ==
        R"({"iteration_time_s":0.71,"period_s":null,"peak_memory_bytes":{"gpu2":5}})");
}
