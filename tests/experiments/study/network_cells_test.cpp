// Cells whose model is a network known by name.
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/kept_inputs.hpp"
#include "experiments/study/study_file.hpp"
#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

Manifest manifest_of(const std::string& matrix) {
  const Study study = parse_study(
      "schema: stagecraft/study/1\nstudy: networks\nbase: {planner: uniform}\n"
      "matrix: {" +
          matrix + "}\n",
      "study.yaml");
  return make_manifest(study, expand(study), {});
}

/// The inputs of each cell, kept if that is possible.
std::vector<Inputs> inputs_of(const Manifest& manifest) {
  KeptInputs kept(manifest);
  std::vector<Inputs> all;
  for (const StudyCell& each : manifest.cells) {
    const CellSpec cell = read_cell(each.cell);
    kept.mark_light(cell);
    static_cast<void>(kept.keep(cell));
    all.push_back(kept.inputs_of(cell));
  }
  return all;
}

}  // namespace

TEST_CASE("a study's network: it is computed for the platform of each cell") {
  const Manifest manifest = manifest_of("model: [gpt2-xl], platform: [dgx-a100, dgx-1-v100]");
  CHECK_NOTHROW(check_files(manifest));
  const std::vector<Inputs> inputs = inputs_of(manifest);
  REQUIRE(inputs.size() == 2);
  const LayerGraph& of_a100 = inputs[0].model.profiles.front();
  const LayerGraph& of_v100 = inputs[1].model.profiles.front();
  CHECK(of_a100.device_kind == "A100-SXM4-40GB");
  CHECK(of_a100.precision == "bf16");
  CHECK(of_v100.device_kind == "V100-SXM2-16GB");
  CHECK(of_v100.precision == "fp16");
}

TEST_CASE("a study's network: precision and sequence are keys") {
  const std::vector<Inputs> inputs =
      inputs_of(manifest_of("model: [gpt2-xl], platform: [dgx-a100], precision: [fp32, bf16], sequence: [256, 512]"));
  REQUIRE(inputs.size() == 4);
  const auto input = [&](std::size_t i) { return inputs[i].model.profiles.front().layers[LayerId(0)].output; };
  CHECK(inputs[0].model.profiles.front().precision == "fp32");
  CHECK(inputs[3].model.profiles.front().precision == "bf16");
  CHECK(input(1) == 2 * input(0));  // twice the tokens
  CHECK(input(0) == 2 * input(2));  // of four bytes in place of two
}

TEST_CASE("a study's network: the granularity is a key, as what it is short for") {
  const Manifest manifest = manifest_of("model: [gpt2-xl], platform: [dgx-a100], granularity: [layer, block]");
  const Manifest whole =
      manifest_of("model: [gpt2-xl], platform: [dgx-a100], model.computed.granularity: [layer, block]");
  const std::vector<Inputs> inputs = inputs_of(manifest);
  REQUIRE(inputs.size() == 2);
  const auto layers = [&](std::size_t i) { return inputs[i].model.profiles.front().layers.size(); };
  // 48 blocks of two halves each, beside what is no block
  CHECK(layers(0) - layers(1) == 48);
  for (std::size_t i = 0; i < 2; ++i) CHECK(manifest.cells[i].key == whole.cells[i].key);
}

TEST_CASE("a study's network: selective recomputation is a key") {
  const std::vector<Inputs> inputs = inputs_of(
      manifest_of("model: [gpt2-xl], platform: [dgx-a100], granularity: [block], selective_recompute: [false, true]"));
  REQUIRE(inputs.size() == 2);
  const auto block = [&](std::size_t i) { return inputs[i].model.profiles.front().layers[LayerId(1)]; };
  CHECK(block(0).name == "block0");
  // 25 heads with 1024 times 1024 scores: softmax, mask and what the dropout leaves
  CHECK(block(0).stash - block(1).stash == Bytes(std::int64_t{5} * 25 * 1024 * 1024));
  CHECK(block(0).backward < block(1).backward);
}

TEST_CASE("a study's network: a wrong name is refused with a near one") {
  CHECK_THROWS_WITH_AS(static_cast<void>(manifest_of("model: [gpt2-xxl], platform: [dgx-a100]")),
                       "no file and no shipped model is called 'gpt2-xxl' (did you mean the network 'gpt2-xl'?)",
                       InputError);
}

}  // namespace stagecraft
