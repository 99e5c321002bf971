#include "sim/io/import_vpipe.hpp"

#include "sim/base/error.hpp"
#include "sim/io/text_file.hpp"
#include "tests/io/language_chain.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

const std::string kFolder = STAGECRAFT_SOURCE_DIR "/tests/vectors/vpipe/";

VpipePlan released(const std::string& name) {
  const std::string path = kFolder + name + ".json";
  return parse_vpipe(read_text_file(path), path);
}

LayerGraph chain_of(std::int64_t layers) {
  LayerGraph graph;
  graph.name = "chain";
  for (std::int64_t l = 0; l < layers; ++l) {
    Layer layer;
    layer.name = "l" + std::to_string(l);
    graph.layers.push_back(layer);
    if (l > 0)
      graph.edges.push_back({LayerId(static_cast<std::size_t>(l) - 1), LayerId(static_cast<std::size_t>(l)), {}});
  }
  return graph;
}

std::size_t recomputed(const Stage& stage) {
  std::size_t count = 0;
  for (const Recompute& segment : actions_of<Recompute>(stage)) count += segment.layers.size();
  return count;
}

std::vector<std::size_t> recomputed_layers(const std::vector<Stage>& stages) {
  std::vector<std::size_t> counts;
  for (const Stage& stage : stages) counts.push_back(recomputed(stage));
  return counts;
}

// The numbers of blocks as the repository's models have them: two in a BERT or CPM layer, two in an encoder and three
// in a decoder layer of the Transformer; one for each embedding (BERT's is in the first attention's block) and the
// head.
TEST_CASE("vpipe: the released plans cover the blocks of their models") {
  const auto blocks_of = [](const std::string& name) -> std::int64_t {
    if (name.starts_with("bert_8")) return 2 * 48 + 1;
    if (name.starts_with("bert")) return 2 * 24 + 1;
    if (name.starts_with("transformer_4")) return 6 * 2 + 6 * 3 + 3;
    if (name.starts_with("transformer_8")) return 12 * 2 + 12 * 3 + 3;
    if (name.starts_with("cpm_medium")) return 2 * 24 + 2;
    return 2 * 32 + 2;
  };
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    const VpipePlan plan = released(name);
    CHECK(std::accumulate(plan.partition.begin(), plan.partition.end(), std::int64_t{0}) == blocks_of(name));
    const std::vector<Stage> stages =
        vpipe_stages(plan, chain_of(blocks_of(name)), testing::like_devices(plan.partition.size()));
    CHECK(stages.size() == plan.partition.size());
    ++count;
  }
  CHECK(count == 24);
}

// The checkpointed lines of all lines are 55/55, 46/55, 48/60, 36/60, 32/65, 13/65, 0/70 and 0/55; a block has 5 lines.
TEST_CASE("vpipe: as many blocks are recomputed as fit into the lines that the program checkpoints") {
  const std::vector<Stage> stages = vpipe_stages(released("bert_8gpu_vpipe"), chain_of(97), testing::like_devices(8));
  CHECK(recomputed_layers(stages) == std::vector<std::size_t>{55 / 5, 46 / 5, 48 / 5, 36 / 5, 32 / 5, 13 / 5, 0, 0});
  CHECK(stages[1].layers.front() == LayerId(11));
  CHECK(actions_of<Recompute>(stages[1]).at(0).layers.front() == LayerId(13));  // the last 9 of 11
  CHECK(actions_of<Recompute>(stages[1]).at(0).layers.back() == LayerId(21));
  CHECK(stages[1].replicas == groups_of_one({DeviceId(1)}));
}

TEST_CASE("vpipe: with one layer more than blocks, the first block has the first two") {
  const std::vector<Stage> partly = vpipe_stages(released("bert_4gpu_vpipe"), chain_of(50), testing::like_devices(16));
  CHECK(partly[0].layers.size() == 13);
  CHECK(partly[1].layers.front() == LayerId(13));
  CHECK(partly[3].layers.back() == LayerId(49));
  CHECK(recomputed_layers(partly) == std::vector<std::size_t>{18 / 5, 0, 0, 0});
  const std::vector<Stage> wholly = vpipe_stages(released("bert_4gpu_gpipe"), chain_of(50), testing::like_devices(4));
  CHECK(recomputed_layers(wholly) == std::vector<std::size_t>{14, 13, 13, 10});
}

TEST_CASE("vpipe: another number of blocks, and more stages than devices, are refused with the numbers") {
  const VpipePlan plan = released("bert_4gpu_vpipe");
  const auto refusal = [&](std::int64_t layers, std::size_t count) {
    try {
      static_cast<void>(vpipe_stages(plan, chain_of(layers), testing::like_devices(count)));
    } catch (const InputError& error) {
      CHECK(error.place().line == 1);
      CHECK(error.place().key == "partition");
      return error.message();
    }
    return std::string();
  };
  CHECK(refusal(48, 4) == "the stages have 49 blocks in all, but the model has 48 layers; expected 48 or 47");
  CHECK(refusal(51, 4) == "the stages have 49 blocks in all, but the model has 51 layers; expected 51 or 50");
  CHECK(refusal(49, 3) == "the plan has 4 stages, but the platform 'some' has 3 devices");
  CHECK(refusal(49, 4).empty());
}

}  // namespace
}  // namespace stagecraft
