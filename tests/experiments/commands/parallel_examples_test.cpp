// Three published trainings, typed in as a user would: Llama 3 8B with context groups, Llama 3 70B with all that
// divides a dense model, Mixtral 8x7B with expert groups. What a device holds and sends is beside numbers that were
// counted from the shapes of the models.
#include "tests/experiments/commands/group_plan_file.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::parallel_examples_test {
namespace {

using Count = std::int64_t;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// A rank's parameters that are no experts, those that are, and how many ranks divide the optimizer of each.
struct Held {
  Count plain = 0;
  Count plain_copies = 1;
  Count experts = 0;
  Count expert_copies = 1;
};

/// The recipe `mixed` with `zero` 1: 2 bytes of weights, 4 of gradients, a part of 12 of the optimizer.
void check_states(const Json& device, const Held& held) {
  const auto part = [](Count all, Count copies) { return (all + copies - 1) / copies; };
  const Json& kept = device["peak_breakdown"];
  CHECK(kept["weights"] == 2 * (held.plain + held.experts));
  CHECK(kept["gradients"] == 4 * (held.plain + held.experts));
  CHECK(kept["optimizer"] == 12 * (part(held.plain, held.plain_copies) + part(held.experts, held.expert_copies)));
}

Json parsed(const Words& words) {
  const Ran ran = run(words);
  CAPTURE(ran.out);
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

Json simulated(const std::string& file) {
  CHECK(run({"check", file}).code == 0);
  return parsed({"simulate", file, "--engine", "evaluate", "--json", "--no-timings"});
}

/// The plan that the command makes; also written to the file.
Json planned(const std::string& file, const Words& more) {
  Words words{"plan", "--json", "--no-timings", "-o", file, "--planner", "uniform", "--zero", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return parsed(words);
}

/// Samples of an iteration.
Count samples(const Json& report) {
  return std::llround(report["throughput_samples_per_s"].get<double>() * report["iteration_time_s"].get<double>());
}

}  // namespace

TEST_CASE("parallel examples: Llama 3 8B on eight H100 in four replicas that have half a sequence on each device") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  const Json plan =
      planned(file, {"--model", "llama3-8b", "--platform", "dgx-h100", "--context", "2", "--training", "recipe=mixed",
                     "--global-batch", "128", "--microbatch-size", "1", "--sequence", "8192", "--precision", "bf16"});
  CHECK(plan["plan"]["microbatches"] == 128);
  CHECK(plan["plan"]["groups"] == Json{{"context", 2}});
  CHECK(plan["plan"]["stages"].size() == 1);
  CHECK(plan["plan"]["stages"][0]["devices"].dump() ==
        R"([["gpu0","gpu1"],["gpu2","gpu3"],["gpu4","gpu5"],["gpu6","gpu7"]])");
  const Json report = simulated(file);
  CHECK(samples(report) == 128);
  constexpr Count kStates = 60'226'959'360;
  constexpr Count kBlock = 570'982'400;
  constexpr Count kHead = 2'168'471'552;
  constexpr Count kNumbersOfTokens = 8 * 4096;
  for (const Json& device : report["devices"]) {
    check_states(device, {.plain = 8'030'261'248, .plain_copies = 4 * 2});
    const Json& kept = device["peak_breakdown"];
    CHECK(kept["weights"].get<Count>() + kept["gradients"].get<Count>() + kept["optimizer"].get<Count>() == kStates);
    CHECK(kept["stash"] == 32 * kBlock + kHead + kNumbersOfTokens);
    CHECK(kept["buffers"] == 0);
  }
}

namespace {

/// Llama 3 70B in 20 stages of four blocks, which go round four places with two groups each, of tensor 4 by context 2.
GroupPlanFile llama_70b() {
  GroupPlanFile file;
  file.model = "llama3-70b";
  file.platform = "superpod-h100-64";
  file.computed = "device: H100-SXM5-80GB, sequence: 8192, granularity: layer";
  file.groups = "{tensor: 4, sequence: true, context: 2}";
  file.schedule = "{name: interleaved-1f1b, chunks: 5}";
  file.microbatches = 128;
  file.devices_of_group = 8;
  file.replicas = 2;
  for (int stage = 0; stage < 20; ++stage) {
    const std::string first = "block" + std::to_string(4 * stage);
    const std::string last = "block" + std::to_string(4 * stage + 3);
    const std::string from = stage == 0 ? "embedding" : first + ".attention";
    const std::string to = stage == 19 ? "head" : last + ".mlp";
    file.stages.push_back({"{from: " + from + ", to: " + to + "}", stage % 4 * 16, ""});
  }
  return file;
}

constexpr Count kChunksInFlight = 23;  ///< 2 (p - 1) + (v - 1) p and the one that follows: p = 4, v = 5

}  // namespace

TEST_CASE("parallel examples: Llama 3 70B in chunks, two replicas of groups that divide layers and sequences") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  write(file, llama_70b().text());
  const Json report = simulated(file);
  CHECK(samples(report) == 128);
  CHECK(report["devices"].size() == 64);
  constexpr Count kStates = 40'870'674'432;
  constexpr Count kBlock = 281'288'704;
  constexpr Count kOfFirstStage = 8;
  constexpr Count kNumbersOfTokens = 8 * 4096;
  for (std::size_t at = 0; at < 16; ++at) {
    const Json& device = report["devices"][at];
    CHECK(device["stages"] == Json{0, 4, 8, 12, 16});
    check_states(device, {.plain = 4'541'186'048, .plain_copies = 2 * 2});
    const Json& kept = device["peak_breakdown"];
    CHECK(kept["weights"].get<Count>() + kept["gradients"].get<Count>() + kept["optimizer"].get<Count>() == kStates);
    CHECK(device["in_flight_peak"] == kChunksInFlight);
    CHECK(kept["stash"] == kChunksInFlight * 4 * kBlock + kOfFirstStage * kNumbersOfTokens);
  }
}

TEST_CASE("parallel examples: the planner cuts Llama 3 70B into chunks, on every device of 64 H100") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  const Json plan = planned(file, {"--model", "llama3-70b", "--platform", "superpod-h100-64", "--set", "stages=20",
                                   "--schedule", "interleaved-1f1b,chunks=5", "--tensor", "4", "--context", "2",
                                   "--global-batch", "128", "--microbatch-size", "1", "--sequence", "8192"});
  CHECK(plan["plan"]["microbatches"] == 128);
  CHECK(plan["plan"]["groups"] == Json{{"tensor", 4}, {"sequence", true}, {"context", 2}});
  CHECK(plan["plan"]["stages"].size() == 20);
  for (const Json& stage : plan["plan"]["stages"]) CHECK(stage["devices"].size() == 2);
  const Json report = simulated(file);
  CHECK(samples(report) == 128);
  CHECK(report["devices"].size() == 64);
  CHECK(report["devices"][0]["in_flight_peak"] == kChunksInFlight);
}

namespace {

Words mixtral_words() {
  return {"--model",    "mixtral-8x7b", "--platform", "dgx-a100-80gb-x4", "--set", "stages=4",          "--expert",
          "8",          "--imbalance",  "1.1",        "--global-batch",   "256",   "--microbatch-size", "1",
          "--sequence", "4096"};
}

/// Eight blocks on each of four nodes.
GroupPlanFile mixtral() {
  GroupPlanFile file;
  file.model = "mixtral-8x7b";
  file.platform = "dgx-a100-80gb-x4";
  file.computed = "device: A100-SXM4-80GB, sequence: 4096, granularity: layer";
  file.groups = "{expert: 8, capacity: none, imbalance: 1.1}";
  file.microbatches = 32;
  file.devices_of_group = 8;
  file.stages = {{"{from: embedding, to: block7.experts}", 0, ""},
                 {"{from: block8.attention, to: block15.experts}", 8, ""},
                 {"{from: block16.attention, to: block23.experts}", 16, ""},
                 {"{from: block24.attention, to: head}", 24, ""}};
  return file;
}

/// What a link carries of exchanges among the members of a group, in bytes.
double exchanged(const Json& link) {
  double share = 0.0;
  for (const Json& each : link["carries"]) {
    if (each["what"].get<std::string>().starts_with("exchange ")) share += each["share"].get<double>();
  }
  return share * link["bytes"].get<double>();
}

}  // namespace

TEST_CASE("parallel examples: the planner puts an expert of each block of Mixtral 8x7B on each device of a node") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  const Json plan = planned(file, mixtral_words());
  CHECK(plan["plan"]["microbatches"] == 32);
  CHECK(plan["plan"]["groups"] == Json{{"expert", 8}, {"imbalance", 1.1}});
  CHECK(plan["plan"]["stages"].size() == 4);
  for (const Json& stage : plan["plan"]["stages"]) CHECK(stage["devices"].size() == 1);
  CHECK(samples(simulated(file)) == 256);
}

// A device sends 1.1 times the vectors of its 4096 tokens, each to two experts, in each all-to-all.
TEST_CASE("parallel examples: Mixtral 8x7B in four stages of eight blocks, each on a node") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  write(file, mixtral().text());
  const Json report = simulated(file);
  CHECK(samples(report) == 256);
  for (std::size_t at = 0; at < 8; ++at) {
    check_states(report["devices"][at],
                 {.plain = 466'944'000, .plain_copies = 8, .experts = 1'409'286'144, .expert_copies = 1});
    CHECK(report["devices"][at]["in_flight_peak"] == 4);
  }
  constexpr double kVectors = 9012.0 * 4096 * 2;
  constexpr int kOfEach = 4;  // dispatch and combine, forward and backward
  int ports = 0;
  for (const Json& link : report["links"]) {
    const std::string name = link["name"];
    CAPTURE(name);
    const bool is_port = name.find(".nic.") == std::string::npos;
    ports += is_port ? 1 : 0;
    CHECK(exchanged(link) == doctest::Approx(is_port ? 32 * 8 * kOfEach * kVectors * 7 / 8 : 0).epsilon(1e-9));
  }
  CHECK(ports == 64);
}

}  // namespace stagecraft::parallel_examples_test
