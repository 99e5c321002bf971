// Plans that combine pipelines, replicas and groups of devices: what each device holds at most, to the byte, beside a
// count from the shapes of the model.
#include "tests/experiments/commands/counted_memory.hpp"
#include "tests/experiments/commands/group_plan_file.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace stagecraft::three_d_plans_test {
namespace {

using counted::Count;
using counted::Counted;
using counted::Division;
using counted::Part;
using counted::Shapes;
using Json = nlohmann::json;

/// A plan of `stages` with the same number of blocks each, under 1F1B.
struct Case {
  const char* id = "";
  std::string model;
  std::string platform;
  std::string device;
  Shapes shapes;
  Division division;
  Count stages = 1;
  Count microbatches = 0;
  std::string groups;
  std::string second_half = "mlp";
  bool recomputes_blocks = false;
};

Shapes llama_shapes(Count blocks, Count hidden, Count heads, Count inner) {
  return {.blocks = blocks,
          .hidden = hidden,
          .heads = heads,
          .narrow_heads = 8,
          .head_size = 128,
          .inner = inner,
          .words = 128'256,
          .sequence = 8192};
}

Case gpt3() {
  return {.id = "GPT-3 175B: tensor 8, 8 stages, 2 replicas, zero 1",
          .model = "gpt3-175b",
          .platform = "superpod-h100-512",
          .device = "H100-SXM5-80GB",
          .shapes = {.blocks = 96,
                     .hidden = 12288,
                     .heads = 96,
                     .narrow_heads = 96,
                     .head_size = 128,
                     .inner = 4 * 12288,
                     .words = 50257,
                     .sequence = 2048,
                     .is_gpt = true},
          .division = {.tensor = 8, .padded_to = 128, .replicas = 2, .zero = 1},
          .stages = 8,
          .microbatches = 32,
          .groups = "{tensor: 8, vocabulary_multiple: 128}"};
}

Case llama_8b() {
  return {.id = "Llama 3 8B: tensor 2, context 2, 2 stages, 2 replicas, zero 2",
          .model = "llama3-8b",
          .platform = "superpod-h100-64",
          .device = "H100-SXM5-80GB",
          .shapes = llama_shapes(32, 4096, 32, 14336),
          .division = {.tensor = 2, .context = 2, .replicas = 2, .zero = 2},
          .stages = 2,
          .microbatches = 16,
          .groups = "{tensor: 2, context: 2}"};
}

Case llama_70b() {
  return {.id = "Llama 3 70B: tensor 8, 4 stages, 2 replicas, zero 1, all blocks recomputed",
          .model = "llama3-70b",
          .platform = "superpod-h100-64",
          .device = "H100-SXM5-80GB",
          .shapes = llama_shapes(80, 8192, 64, 28672),
          .division = {.tensor = 8, .replicas = 2, .zero = 1},
          .stages = 4,
          .microbatches = 16,
          .groups = "{tensor: 8}",
          .recomputes_blocks = true};
}

Case mixtral() {
  Shapes shapes = llama_shapes(32, 4096, 32, 0);
  shapes.words = 32000;
  shapes.sequence = 4096;
  shapes.experts = 8;
  shapes.active = 2;
  shapes.expert_inner = 14336;
  return {.id = "Mixtral 8x7B: expert 8, 4 stages, 2 replicas, zero 1",
          .model = "mixtral-8x7b",
          .platform = "dgx-a100-80gb",
          .device = "A100-SXM4-80GB",
          .shapes = shapes,
          .division = {.expert = 8, .imbalance_tenths = 11, .replicas = 2, .zero = 1},
          .stages = 4,
          .microbatches = 16,
          .groups = "{expert: 8, imbalance: 1.1}",
          .second_half = "experts"};
}

Case deepseek() {
  return {.id = "DeepSeek-V2-Lite: tensor 2, expert 4, 3 stages, 2 replicas, zero 1",
          .model = "deepseek-v2-lite",
          .platform = "superpod-h100-64",
          .device = "H100-SXM5-80GB",
          .shapes = {.blocks = 27,
                     .hidden = 2048,
                     .heads = 16,
                     .inner = 10944,
                     .words = 102'400,
                     .sequence = 4096,
                     .experts = 64,
                     .active = 6,
                     .expert_inner = 1408,
                     .shared_inner = 2816,
                     .dense_blocks = 1,
                     .latent = 512,
                     .nope = 128,
                     .rope = 64,
                     .value = 128},
          .division = {.tensor = 2, .expert = 4, .replicas = 2, .zero = 1},
          .stages = 3,
          .microbatches = 16,
          .groups = "{tensor: 2, expert: 4}",
          .second_half = "experts"};
}

Case deepseek_236b() {
  Case of = deepseek();
  of.id = "DeepSeek-V2: tensor 4, context 2, expert 16, 6 stages, zero 1";
  of.model = "deepseek-v2";
  of.platform = "superpod-h100-512";
  of.shapes = {.blocks = 60,
               .hidden = 5120,
               .heads = 128,
               .inner = 12288,
               .words = 102'400,
               .sequence = 4096,
               .experts = 160,
               .active = 6,
               .expert_inner = 1536,
               .shared_inner = 3072,
               .dense_blocks = 1,
               .latent = 512,
               .query_latent = 1536,
               .nope = 128,
               .rope = 64,
               .value = 128};
  of.division = {.tensor = 4, .context = 2, .expert = 16, .gathers_keys = true, .zero = 1};
  of.stages = 6;
  of.groups = "{tensor: 4, context: 2, expert: 16, attention: all-gather}";
  return of;
}

Case llama_8b_fsdp() {
  Case of = llama_8b();
  of.id = "Llama 3 8B: tensor 2, context 2, 4 replicas, zero 3";
  of.division.replicas = 4;
  of.division.zero = 3;
  of.stages = 1;
  return of;
}

Case qwen() {
  Shapes shapes = llama_shapes(28, 3584, 28, 18944);
  shapes.narrow_heads = 4;
  shapes.words = 152'064;
  shapes.sequence = 4096;
  shapes.query_bias = true;
  return {.id = "Qwen2 7B: tensor 4 without sequence parallelism, 2 stages, 2 replicas, zero 0, 2 samples",
          .model = "qwen2-7b",
          .platform = "superpod-h100-64",
          .device = "H100-SXM5-80GB",
          .shapes = shapes,
          .division = {.tensor = 4, .by_tokens = false, .replicas = 2, .samples = 2},
          .stages = 2,
          .microbatches = 16,
          .groups = "{tensor: 4, sequence: false}"};
}

Count blocks_of_stage(const Case& of) { return of.shapes.blocks / of.stages; }

std::string name_of(Count block) { return "block" + std::to_string(block); }

std::string segments(const Case& of, Count first) {
  std::string text;
  for (Count block = first; block < first + blocks_of_stage(of); ++block) {
    text +=
        (text.empty() ? "[" : ", [") + name_of(block) + ".attention, " + name_of(block) + "." + of.second_half + "]";
  }
  return ", recompute: [" + text + "]";
}

GroupPlanFile file_of(const Case& of) {
  GroupPlanFile file;
  file.model = of.model;
  file.platform = of.platform;
  file.computed = "device: " + of.device + ", sequence: " + std::to_string(of.shapes.sequence) + ", granularity: layer";
  file.groups = of.groups;
  file.zero = static_cast<int>(of.division.zero);
  file.microbatch_size = static_cast<int>(of.division.samples);
  file.microbatches = static_cast<int>(of.microbatches);
  file.devices_of_group = static_cast<int>(of.division.devices());
  file.replicas = static_cast<int>(of.division.replicas);
  for (Count stage = 0; stage < of.stages; ++stage) {
    const Count first = stage * blocks_of_stage(of);
    const Count last = first + blocks_of_stage(of) - 1;
    const std::string from = stage == 0 ? "embedding" : name_of(first) + ".attention";
    const std::string to = stage == of.stages - 1 ? "head" : name_of(last) + "." + of.second_half;
    file.stages.push_back({"{from: " + from + ", to: " + to + "}",
                           static_cast<int>(stage) * file.devices_of_group * file.replicas,
                           of.recomputes_blocks ? segments(of, first) : ""});
  }
  return file;
}

Part part_of(const Case& of, Count stage) {
  return {.first_block = stage * blocks_of_stage(of),
          .blocks = blocks_of_stage(of),
          .has_embedding = stage == 0,
          .has_head = stage == of.stages - 1,
          .in_flight = std::min(of.stages - stage, of.microbatches / of.division.replicas),
          .recomputes_blocks = of.recomputes_blocks};
}

}  // namespace

TEST_CASE("3D plans: a device holds at most what is counted from the shapes of its model, to the byte") {
  const Folder folder;
  for (const Case& of :
       {gpt3(), llama_8b(), llama_70b(), mixtral(), deepseek(), qwen(), deepseek_236b(), llama_8b_fsdp()}) {
    CAPTURE(of.id);
    const std::string file = folder.file(of.model + ".yaml");
    write(file, file_of(of).text());
    const Ran ran = run({"simulate", file, "--engine", "evaluate", "--json", "--no-timings"});
    CAPTURE(ran.err);
    REQUIRE(ran.out.starts_with("{"));
    const Json report = Json::parse(ran.out);
    const Counted counted(of.shapes, of.division);
    CHECK(report["devices"].size() ==
          static_cast<std::size_t>(of.stages * of.division.replicas * of.division.devices()));
    for (const Json& device : report["devices"]) {
      const auto stage = device["stages"][0].get<Count>();
      CAPTURE(device.dump());
      const Part part = part_of(of, stage);
      CHECK(device["in_flight_peak"] == part.in_flight);
      const Json& kept = device["peak_breakdown"];
      CHECK(kept["weights"].get<Count>() + kept["gradients"].get<Count>() + kept["optimizer"].get<Count>() ==
            counted.states(part));
      CHECK(device["peak_memory_bytes"] == counted.peak(part));
    }
  }
}

}  // namespace stagecraft::three_d_plans_test
