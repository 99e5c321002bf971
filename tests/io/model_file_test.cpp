#include "sim/io/model_file.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

constexpr const char* kChain = R"(
schema: stagecraft/model/1
model: toy
device: A
microbatch_size: 4
source: "made up: \"by hand\""
input: 10 B
layers:
  - {name: one, forward: 1 ms, backward: 2 ms, parameters: 8 B, output: 100 B, type: conv}
  - {name: two, forward: 41.3 ms, backward: 3 ms, backward_weight: 1 ms, parameters: 0 B, output: 50 B, stash: 7 B,
     checkpoint: 5 B, workspace: 3 B}
  - {name: "3", forward: 0, backward: 0 s, parameters: 1 KiB, output: 0}
)";

Model chain() { return parse_model(kChain, "toy.yaml"); }

/// A file without the line of a key.
std::string without_key(std::string text, const std::string& key) {
  const std::size_t line = text.find("\n" + key + ": ");
  REQUIRE(line != std::string::npos);
  return text.erase(line, text.find('\n', line + 1) - line);
}

}  // namespace

TEST_CASE("model file: a file without edges is a chain, and defaults are filled in") {
  const LayerGraph graph = chain().profiles.at(0);
  CHECK(graph.name == "toy");
  CHECK(graph.device_kind == "A");
  CHECK(graph.microbatch_size == 4);
  CHECK(graph.source == "made up: \"by hand\"");
  REQUIRE(graph.layers.size() == 3);
  const Layer& one = graph.layers[LayerId(0)];
  CHECK(one.backward_weight == Seconds(0.001));  // one half of the backward
  CHECK(one.stash == Bytes(10));                 // what a source layer receives
  CHECK(one.checkpoint == Bytes(10));
  CHECK(one.workspace == Bytes(0));
  CHECK(one.type == "conv");
  const Layer& two = graph.layers[LayerId(1)];
  CHECK(two.forward == Seconds(0.0413));
  CHECK(two.backward_weight == Seconds(0.001));
  CHECK(two.stash == Bytes(7));
  CHECK(two.checkpoint == Bytes(5));
  CHECK(two.workspace == Bytes(3));
  CHECK(graph.layers[LayerId(2)].name == "3");
  CHECK(graph.layers[LayerId(2)].stash == Bytes(50));
  REQUIRE(graph.edges.size() == 2);
  CHECK(graph.edges[0] == LayerEdge{LayerId(0), LayerId(1), Bytes(100)});
  CHECK(graph.edges[1] == LayerEdge{LayerId(1), LayerId(2), Bytes(50)});
}

TEST_CASE("model file: edges carry the output unless they say otherwise, and stashes sum over them") {
  const Model model = parse_model(R"(
schema: stagecraft/model/1
model: fork
device: A
microbatch_size: 1
layers:
  - {name: a, forward: 1 s, backward: 1 s, parameters: 0, output: 100 B}
  - {name: b, forward: 1 s, backward: 1 s, parameters: 0, output: 30 B}
  - {name: c, forward: 1 s, backward: 1 s, parameters: 0, output: 1 B}
edges: [[a, b], [a, c, {bytes: 4 KiB}], [b, c]]
)",
                                  "fork.yaml");
  const LayerGraph& graph = model.profiles.at(0);
  CHECK(graph.edges[1].bytes == Bytes(4096));
  CHECK(graph.layers[LayerId(1)].stash == Bytes(100));
  CHECK(graph.layers[LayerId(2)].stash == Bytes(4126));
  CHECK(parse_model(write_model(model), "again") == model);
}

TEST_CASE("model file: a checkpoint that is not given is at most the stash") {
  const Model model = parse_model(R"(
schema: stagecraft/model/1
model: m
device: A
microbatch_size: 1
input: 100 B
layers: [{name: a, forward: 1 s, backward: 1 s, parameters: 0, output: 1 B, stash: 40 B}]
)",
                                  "m.yaml");
  CHECK(model.profiles.at(0).layers[LayerId(0)].checkpoint == Bytes(40));
}

TEST_CASE("model file: several measured sizes are ordered by size") {
  const Model model = parse_model(R"(
schema: stagecraft/model/1
model: sizes
device: A
edges: [[a, b]]
profiles:
  - microbatch_size: 16
    layers:
      - {name: a, forward: 3 s, backward: 1 s, parameters: 0, output: 100 B}
      - {name: b, forward: 3 s, backward: 1 s, parameters: 0, output: 100 B}
  - microbatch_size: 8
    input: 5 B
    layers:
      - {name: a, forward: 2 s, backward: 1 s, parameters: 0, output: 50 B}
      - {name: b, forward: 2 s, backward: 1 s, parameters: 0, output: 50 B}
)",
                                  "sizes.yaml");
  REQUIRE(model.profiles.size() == 2);
  CHECK(model.profiles[0].microbatch_size == 8);
  CHECK(model.profiles[0].input == Bytes(5));
  CHECK(model.profiles[1].layers[LayerId(0)].forward == Seconds(3));
  CHECK(model.profiles[1].edges[0].bytes == Bytes(100));
  CHECK(parse_model(write_model(model), "again") == model);
}

TEST_CASE("model file: tensors say what layers read and keep, by default what the edges say") {
  const char* const text = R"(
schema: stagecraft/model/1
model: toy
device: A
microbatch_size: 4
input: 16 B
layers:
  - {name: a, forward: 1 ms, backward: 2 ms, parameters: 0 B, output: 64 B, stash: 90 B}
  - {name: b, forward: 1 ms, backward: 2 ms, parameters: 0 B, output: 32 B, stash: 64 B}
  - {name: c, forward: 1 ms, backward: 2 ms, parameters: 0 B, output: 32 B, stash: 64 B}
edges: [[a, b], [a, c], [b, c]]
tensors:
  - {from: a, kept_by: [c, a]}
  - {from: a, to: [b], bytes: 8 B, kept_by: [b]}
  - {kept_by: [a]}
)";
  const Model model = parse_model(text, "toy.yaml");
  const LayerGraph& graph = model.profiles.at(0);
  CHECK(graph.tensors ==
        std::vector<SharedTensor>{{LayerId(0), Bytes(64)}, {LayerId(0), Bytes(8)}, {LayerId::none(), Bytes(16)}});
  using Positions = std::vector<std::uint32_t>;
  const Layer& a = graph.layers[LayerId(0)];
  const Layer& b = graph.layers[LayerId(1)];
  const Layer& c = graph.layers[LayerId(2)];
  CHECK(a.reads == Positions{2});
  CHECK(a.keeps == Positions{0, 2});
  CHECK(b.reads == Positions{0, 1});
  CHECK(b.keeps == Positions{1});
  CHECK(c.reads == Positions{0});
  CHECK(c.keeps == Positions{0});
  CHECK(parse_model(write_model(model), "again") == model);
}

TEST_CASE("model file: what is written reads back to an equal value") {
  Model model = chain();
  CHECK(parse_model(write_model(model), "again") == model);
  Layer& layer = model.profiles[0].layers[LayerId(0)];
  layer.name = "odd: [name], {true} # \"quoted\" \\ grün";
  layer.type = "12";
  layer.forward = Seconds(1.0 / 3.0);
  model.profiles[0].source = "two\nlines\tand a tab";
  model.profiles[0].name = "null";
  CHECK(parse_model(write_model(model), "again") == model);
}

TEST_CASE("model file: anchors and aliases are followed") {
  const Model model = parse_model(R"(
schema: stagecraft/model/1
model: m
device: A
microbatch_size: 1
layers:
  - {name: a, forward: &t 1 s, backward: *t, parameters: 0, output: 1 B}
)",
                                  "m.yaml");
  CHECK(model.profiles.at(0).layers[LayerId(0)].backward == Seconds(1));
}

TEST_CASE("model file: a recipe with a precision and a sequence is computed as the file with figures has it") {
  const Recipe recipe{"gpt2-small", std::nullopt, "layer", "fp8", 128};
  const Model model = computed_model(recipe, "H100-SXM5-80GB", 2).value();
  const LayerGraph& graph = model.profiles.at(0);
  CHECK(graph.precision == "fp8");
  CHECK(graph.input == Bytes(2 * 128 * 8));  // token numbers
  const Model alone = parse_model(write_model(model, true), "alone.yaml");
  CHECK((alone == model));
  CHECK((parse_model(write_model(model), "figures.yaml") == model));
  // The other kinds are computed in the same precision, where they have it.
  CHECK_FALSE(alone.computed->has("A100-SXM4-80GB"));
  CHECK(alone.computed->profile("H200-SXM-141GB", 2).precision == "fp8");
}

TEST_CASE("model file: says what a sample asks for, as far as it is known") {
  Model model = chain();
  CHECK(model.profiles[0].work == SampleWork{});
  for (const SampleWork& work : {SampleWork{Flops(3e22), Flops(7.0), 0}, SampleWork{Flops(8.0), Flops(0), 512},
                                 SampleWork{Flops(0), Flops(0), 12}, SampleWork{Flops(0.5), Flops(0), 1}}) {
    model.profiles[0].work = work;
    CHECK(parse_model(write_model(model), "again") == model);
  }
}

TEST_CASE("model file: a recipe tells the work that a file with figures leaves out, and refuses another one") {
  const Recipe recipe{"llama3.2-1b", std::nullopt, "block", "bf16", 64};
  const Model model = computed_model(recipe, "H100-SXM5-80GB", 1).value();
  const std::string text = write_model(model);
  const std::string no_tokens = without_key(text, "tokens");
  CHECK((parse_model(no_tokens, "no_tokens.yaml") == model));
  CHECK((parse_model(without_key(without_key(no_tokens, "masked_flops"), "flops"), "no_work.yaml") == model));
  std::string other = text;
  other.replace(other.find("\ntokens: 64"), 11, "\ntokens: 65");
  CHECK_THROWS_WITH_AS((void)parse_model(other, "other.yaml"), doctest::Contains("the work of a sample differs"),
                       InputError);
}

TEST_CASE("model file: says what one parameter takes, in the file of a device that the catalogue lacks too") {
  DeviceDescription device = find_device("V100-SXM2-16GB", Precision::Fp16).value();
  device.name = "own";
  const Model model = build_model(find_architecture("vgg16").value(), device, 4);
  const Model read = parse_model(write_model(model), "own.yaml");
  CHECK((read == model));
  CHECK(known_parameter_bytes(read.profiles.at(0)) == 2);
}
