// What one device of a stage has and keeps, beside numbers that were computed from tensor shapes independently of this
// program: parameters, and the bytes between the forward of a microbatch and its backward. T tokens, h hidden, V rows
// of the table of words, t members of the group.
#include "sim/model/plan.hpp"
#include "sim/schedule/memory_ledger.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/transformer.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::stage_memory_test {

namespace {

/// One of several stages with as many blocks each, in bf16, of a model of which a microbatch is one sample.
struct StageCase {
  const char* id = "";
  Architecture network;
  std::int64_t blocks = 0;  ///< of a stage
  std::int64_t stages = 1;
  std::int64_t stage = 0;
  Degrees degrees;
  bool recomputes_blocks = false;  ///< each is a segment: it keeps its input
  std::int64_t parameters = 0;
  std::int64_t replicas = 1;       ///< that divide the optimizer's state
  std::int64_t states = 0;         ///< weights, gradients and optimizer with the recipe `mixed`, in bytes
  std::int64_t activations = 0;    ///< of its blocks, and on the first stage the numbers of the tokens, in bytes
  std::int64_t head_and_loss = 0;  ///< on the last stage, in bytes
};

Architecture gpt3() {
  return gpt("gpt3", {.layers = 96,
                      .hidden = 12288,
                      .heads = 96,
                      .sequence = 2048,
                      .vocabulary = 51200,
                      .positions = 2048,
                      .dropouts = {.embedding = false}});  // its mask is not in the reference
}

std::vector<StageCase> stage_cases() {
  return {
      {.id = "llama3-8b on two stages in groups of two, the last stage",
       .network = *find_architecture("llama3-8b"),
       .blocks = 16,
       .stages = 2,
       .stage = 1,
       .degrees = {.tensor = 2, .sequence = true},
       .parameters = 2'007'633'920,
       .replicas = 2,
       .states = 24'091'607'040,
       .activations = 9'135'718'400,
       .head_and_loss = 2'168'471'552},
      {.id = "llama3-8b on one device that recomputes all blocks",
       .network = *find_architecture("llama3-8b"),
       .blocks = 32,
       .recomputes_blocks = true,
       .parameters = 8'030'261'248,
       .replicas = 8,
       .states = 60'226'959'360,
       .activations = 2'147'549'184,
       .head_and_loss = 4'336'943'104},
      {.id = "llama3-70b on four stages in groups of eight, the first stage",
       .network = *find_architecture("llama3-70b"),
       .blocks = 20,
       .stages = 4,
       .degrees = {.tensor = 8, .sequence = true},
       .parameters = 2'270'756'864,
       .replicas = 2,
       .states = 27'249'082'368,
       .activations = 5'625'839'616},
      {.id = "GPT-3 on eight stages in groups of eight that recompute all blocks, the first stage",
       .network = gpt3(),
       .blocks = 12,
       .stages = 8,
       .degrees = {.tensor = 8, .sequence = false, .vocabulary_multiple = 128},
       .recomputes_blocks = true,
       .parameters = 2'822'731'776,
       .replicas = 16,
       .states = 19'053'439'488,
       .activations = 603'996'160},
      {.id = "GPT-3 on eight stages in groups of eight that recompute scores, the last stage",
       .network = with_selective_recompute(gpt3()),
       .blocks = 12,
       .stages = 8,
       .stage = 7,
       .degrees = {.tensor = 8, .sequence = true, .vocabulary_multiple = 128},
       .parameters = 2'797'590'528,
       .replicas = 16,
       .states = 18'883'736'064,
       .activations = 1'283'506'176,
       .head_and_loss = 65'013'760},
  };
}

LayerGraph graph_of(const Architecture& net, Precision precision, const Degrees& degrees, std::int64_t samples = 1) {
  DeviceDescription device = find_device("H100-SXM5-80GB").value();
  device.precision = precision;
  return build_model(net, device, samples, Granularity::Block, degrees).profiles.at(0);
}

bool is_head(const Layer& layer) { return layer.name == "head"; }

bool is_of_stage(const Layer& layer, const StageCase& of) {
  if (layer.name == "embedding") return of.stage == 0;
  if (is_head(layer)) return of.stage == of.stages - 1;
  return std::stoll(layer.name.substr(std::string("block").size())) / of.blocks == of.stage;
}

Stage stage_with(const LayerGraph& graph, const std::vector<LayerId>& layers, bool recomputes_blocks) {
  Stage stage;
  stage.layers = layers;
  for (const LayerId id : layers) {
    if (recomputes_blocks && graph.layers[id].name.starts_with("block")) stage.memory.emplace_back(Recompute{{id}});
  }
  return stage;
}

std::int64_t kept_by(const LayerGraph& graph, const std::vector<LayerId>& layers, bool recomputes_blocks) {
  return layers.empty() ? 0 : stage_program(graph, stage_with(graph, layers, recomputes_blocks)).kept.value();
}

std::int64_t states_of(const StageCase& of) {
  Training training;
  training.recipe = OptimizerRecipe::Mixed;
  training.gradient_copies = kept_copies(OptimizerRecipe::Mixed).gradients;
  training.optimizer_copies = kept_copies(OptimizerRecipe::Mixed).optimizer;
  training.zero = 1;
  return kept_state(training, {Bytes(2 * of.parameters), 1, of.replicas}).total().value();
}

/// What the last layer keeps of a microbatch, in bytes.
std::int64_t kept_by_head(const Architecture& net, Precision precision, const Degrees& degrees, std::int64_t samples) {
  return graph_of(net, precision, degrees, samples).layers.back().stash.value();
}

}  // namespace

TEST_CASE("stage memory: a device has the parameters and keeps the bytes that were counted for it") {
  for (const StageCase& of : stage_cases()) {
    CAPTURE(of.id);
    const LayerGraph graph = graph_of(of.network, Precision::Bf16, of.degrees);
    std::vector<LayerId> all;
    std::vector<LayerId> head;
    std::vector<LayerId> blocks;
    for (const LayerId id : indices(graph.layers)) {
      if (!is_of_stage(graph.layers[id], of)) continue;
      all.push_back(id);
      (is_head(graph.layers[id]) ? head : blocks).push_back(id);
    }
    CHECK(stage_program(graph, stage_with(graph, all, of.recomputes_blocks)).parameters.value() == 2 * of.parameters);
    CHECK(states_of(of) == of.states);
    CHECK(kept_by(graph, blocks, of.recomputes_blocks) == of.activations);
    CHECK(kept_by(graph, head, of.recomputes_blocks) == of.head_and_loss);
    CHECK(kept_by(graph, all, of.recomputes_blocks) == of.activations + of.head_and_loss);
  }
}

// The norm's input and output, 2Th values, and its statistics, 8T bytes; the logits, 4TV/t bytes. Rows of 1,000 words
// in groups of two, padded to multiples of 128, are 512.
TEST_CASE("stage memory: a loss keeps its logits once, in four bytes, in every precision") {
  const Architecture net =
      gpt("g", {.layers = 1, .hidden = 64, .heads = 8, .sequence = 16, .vocabulary = 1000, .positions = 16});
  for (const std::int64_t samples : {1, 3}) {
    const std::int64_t tokens = 16 * samples;
    for (const auto& [precision, bytes] : {std::pair{Precision::Fp32, 4}, {Precision::Tf32, 4}, {Precision::Bf16, 2}}) {
      CAPTURE(to_string(precision));
      const std::int64_t norm = 2 * tokens * 64 * bytes + 8 * tokens;
      CHECK(kept_by_head(net, precision, {}, samples) == norm + 4 * tokens * 1000);
      const Degrees two{.tensor = 2, .sequence = false, .vocabulary_multiple = 128};
      CHECK(kept_by_head(net, precision, two, samples) == norm + 4 * tokens * 512);
    }
  }
}

}  // namespace stagecraft::stage_memory_test
