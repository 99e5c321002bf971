// Profiles for Sailor's planner.
#include "sim/io/import_sailor.hpp"

#include "sim/io/architecture_file.hpp"
#include "sim/io/model_file.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace stagecraft::import_sailor_test {
namespace {

/// Three blocks; the products of the last layer are as many as those of two blocks.
Architecture network(int hidden = 64) {
  return parse_architecture(R"(schema: stagecraft/architecture/1
architecture: three
family: gpt
layers: 3
heads: 4
sequence: 32
vocabulary: 1600
hidden: )" + std::to_string(hidden),
                            "three.yaml");
}

SailorRun run_in(Precision precision = Precision::Fp32) { return {network(), "RTX-3090", precision}; }

std::string profile_of(const std::vector<std::string>& layers) {
  std::string text;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": [" + layers[i] + "]";
  }
  return "{" + text + "}";
}

const std::vector<std::string> kAlone = {"0.0004, 3e-06, 0.002", "0.002786, 0.005906, 0.002",
                                         "0.002314, 0.005909, 0.002", "0.002314, 0.005909, 0.002",
                                         "0.0022110000000000003, 0.003989, 0.002"};
const std::vector<std::string> kOfTwo = {"1, 1, 1", "1, 1, 1", "1, 1, 1", "1, 1, 1", "1, 1, 1"};

/// The cost model's profile on a device that has all of these precisions.
LayerGraph computed(std::int64_t samples, Precision precision = Precision::Fp32) {
  return build_model(network(), *find_device("A100-SXM4-40GB", precision), samples, Granularity::Block)
      .profiles.front();
}

}  // namespace

TEST_CASE("import sailor: the times of the file and the sizes of the cost model, for each size of one device") {
  const std::string text = R"({"8": {"2": )" + profile_of(kOfTwo) + R"(, "1": )" + profile_of(kAlone) +
                           R"(}, "16": {"2": )" + profile_of(kOfTwo) + R"(}, "2": {"1": )" + profile_of(kAlone) + "}}";
  const SailorProfile profile = import_sailor(text, "folder/OPT-2.7-profile.json", run_in());
  CHECK(profile.has_further_degrees);
  CHECK_FALSE(profile.lacks_last_products);
  REQUIRE(profile.model.profiles.size() == 2);
  CHECK(profile.model.profiles[0].microbatch_size == 2);
  CHECK(profile.model.profiles[1].microbatch_size == 8);
  for (const LayerGraph& graph : profile.model.profiles) {
    CAPTURE(graph.microbatch_size);
    CHECK(graph.name == "three");
    CHECK(graph.device_kind == "RTX-3090");
    CHECK(graph.origin == Origin::Measured);
    CHECK(graph.precision == "fp32");
    CHECK(graph.parameter_bytes == 4);
    CHECK(graph.source.find("OPT-2.7-profile.json") != std::string::npos);
    LayerGraph expected = computed(graph.microbatch_size);
    const std::vector<double> forwards = {0.0004, 0.002786, 0.002314, 0.002314, 0.0022110000000000003};
    const std::vector<double> backwards = {3e-06, 0.005906, 0.005909, 0.005909, 0.003989};
    REQUIRE(graph.layers.size() == expected.layers.size());
    for (const LayerId id : indices(expected.layers)) {
      Layer& layer = expected.layers[id];
      layer.forward = Seconds(forwards[id.value()]);
      layer.backward = Seconds(backwards[id.value()]);
      layer.backward_weight = layer.backward / 2.0;
      layer.type.clear();
    }
    CHECK(graph.layers == expected.layers);
    CHECK(graph.edges == expected.edges);
    CHECK(graph.tensors == expected.tensors);
    CHECK(graph.tied == expected.tied);
    CHECK(graph.input == expected.input);
    CHECK(graph.work == expected.work);
  }
  CHECK(parse_model(write_model(profile.model), "again") == profile.model);
}

TEST_CASE("import sailor: sizes are those of the precision") {
  const std::string text = R"({"4": {"1": )" + profile_of(kAlone) + "}}";
  const SailorProfile profile = import_sailor(text, "f", run_in(Precision::Bf16));
  CHECK_FALSE(profile.has_further_degrees);
  const LayerGraph& graph = profile.model.profiles.at(0);
  CHECK(graph.precision == "bf16");
  CHECK(graph.parameter_bytes == 2);
  CHECK(totals(graph).parameters == totals(computed(4, Precision::Bf16)).parameters);
  CHECK(2 * totals(graph).parameters.value() == totals(computed(4)).parameters.value());
  CHECK(totals(graph).stash == totals(computed(4, Precision::Bf16)).stash);
  CHECK(parse_model(write_model(profile.model), "again") == profile.model);
}

TEST_CASE("import sailor: a last norm apart is part of the last layer") {
  std::vector<std::string> layers = kAlone;
  layers.insert(layers.end() - 1, "0.0002, 0.0005, 0.002");
  const std::string text = R"({"1": {"1": )" + profile_of(layers) + "}}";
  const LayerGraph graph = import_sailor(text, "f", run_in()).model.profiles.at(0);
  REQUIRE(graph.layers.size() == 5);
  CHECK(graph.layers[LayerId(3)].forward == Seconds(0.002314));
  CHECK(graph.layers[LayerId(4)].name == "head");
  CHECK(graph.layers[LayerId(4)].forward == Seconds(0.0002) + Seconds(0.0022110000000000003));
  CHECK(graph.layers[LayerId(4)].backward == Seconds(0.0005) + Seconds(0.003989));
  layers[4] = layers[3];  // another block is no norm
  CHECK_THROWS_AS(import_sailor(R"({"1": {"1": )" + profile_of(layers) + "}}", "f", run_in()), InputError);
}

TEST_CASE("import sailor: a last layer that is ten times as fast as the blocks lacks its products") {
  const auto lacks = [](const std::string& head) {
    std::vector<std::string> layers(5, "0.001, 0.002, 0");
    layers[0] = "0, 0, 0";
    layers[4] = head + ", 0.002, 0";
    return import_sailor(R"({"1": {"1": )" + profile_of(layers) + "}}", "f", run_in()).lacks_last_products;
  };
  // A block has 12 h^2 + 2 s h, the last layer v h multiply-adds for each token; three blocks take 3 ms.
  const double part = 1600.0 * 64 / (3 * (12.0 * 64 * 64 + 2.0 * 32 * 64));
  const double fair = 3e-3 * part;
  CHECK_FALSE(lacks(std::to_string(fair / 9.9)));
  CHECK(lacks(std::to_string(fair / 10.1)));
  CHECK(lacks("0"));
}

TEST_CASE("import sailor: sizes that no model has are refused at the entry of their size") {
  SailorRun run = run_in();
  run.network = network(65536);
  const std::string text =
      R"({"1": {"1": )" + profile_of(kAlone) + "},\n\"1000000000\": {\"1\": " + profile_of(kAlone) + "}}";
  try {
    static_cast<void>(import_sailor(text, "f.json", run));
    FAIL_CHECK("not refused");
  } catch (const InputError& error) {
    CHECK(error.place().line == 2);
    CHECK(error.place().key == "1000000000.1");
    CHECK(error.message().find("exceed") != std::string::npos);
  }
}

}  // namespace stagecraft::import_sailor_test
