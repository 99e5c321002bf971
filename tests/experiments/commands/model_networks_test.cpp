// Networks of `model`: known by name at other sizes, and those that files describe.
#include "sim/io/model_file.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

namespace stagecraft::model_networks_test {
namespace {

const std::string kRoot = STAGECRAFT_SOURCE_DIR;

}  // namespace

TEST_CASE("model: --image sets the pixels of a network known by name, and of nothing else") {
  const auto ran = [](const std::string& name, const std::string& image) {
    return run({"model", name, "--device", "V100-SXM2-16GB", "--microbatch-size", "8", "--image", image});
  };
  CHECK(ran("resnet50", "1000").out.find("\ninput: 96000000 B\n") != std::string::npos);  // 8 x 3 x 1000 x 1000 x 4
  CHECK(ran("inception-v3", "200").err.find("an image of 200 pixels is too small") != std::string::npos);
  CHECK(ran("bert-base", "224").err.find("--image: 'bert-base' is not a network for images") != std::string::npos);
  CHECK(ran("resnet50", "0").code == 2);
}

// The same figures as the network known by name, which is computed on its own road.
TEST_CASE("model, describe: --config takes the network of a config.json, and says what it left out") {
  const std::string config = kRoot + "/tests/vectors/good/config_deepseek_v3.json";
  const auto made = [&](std::vector<std::string> words) {
    for (const char* word : {"--device", "H100-SXM5-80GB", "--precision", "bf16", "--granularity", "block"}) {
      words.emplace_back(word);
    }
    const Ran ran = run(words);
    CHECK(ran.code == 0);
    return parse_model(ran.out, "model");
  };
  const Model read = made({"model", "--config", config, "--microbatch-size", "1,2", "--sequence", "4096"});
  const Model known = made({"model", "deepseek-v3", "--microbatch-size", "2", "--sequence", "4096"});
  REQUIRE(read.profiles.size() == 2);
  CHECK_FALSE(read.recipe.has_value());
  CHECK(read.profiles[1].layers == known.profiles.at(0).layers);
  CHECK(read.profiles[1].name == "config_deepseek_v3");
  const Ran told = run({"describe", config});
  CHECK(told.out.find("\n671026419200 parameters, of which a token uses 37552297472; ") != std::string::npos);
  CHECK(told.err.find("'num_nextn_predict_layers' is left out") != std::string::npos);
  CHECK(told.err.find("a sample has 8192 tokens, where the file allows 163840") != std::string::npos);
}

// As the network known by name, which takes its length on its own road.
TEST_CASE("model: --sequence gives an architecture file another length") {
  const Folder folder;
  const auto written = [&](const std::string& family, const std::string& sizes) {
    std::ofstream(folder.file("a.yaml")) << "schema: stagecraft/architecture/1\narchitecture: a\nfamily: " << family
                                         << "\n"
                                         << sizes;
    return folder.file("a.yaml");
  };
  const auto ran = [](const std::string& name, const std::string& tokens) {
    return run({"model", name, "--device", "H100-SXM5-80GB", "--microbatch-size", "2", "--granularity", "block",
                "--sequence", tokens});
  };
  const std::string llama = written("llama",
                                    "layers: 32\nhidden: 4096\nheads: 32\nkey_value_heads: 8\nfeed_forward: 14336\n"
                                    "vocabulary: 128256\nsequence: 64\n");
  const Ran described = ran(llama, "1024");
  REQUIRE(described.code == 0);
  CHECK(parse_model(described.out, "model").profiles.at(0).layers ==
        parse_model(ran("llama3-8b", "1024").out, "model").profiles.at(0).layers);
  const Ran positions = ran(written("opt", "layers: 2\nhidden: 64\nheads: 4\nsequence: 64\npositions: 66\n"), "67");
  CHECK(positions.code == 2);
  CHECK(positions.err.find("--sequence: positions: expected at least 'sequence', 67, found '66'") != std::string::npos);
  const Ran images = ran(written("vit", "layers: 2\nhidden: 64\nheads: 4\n"), "128");
  CHECK(images.code == 2);
  CHECK(images.err.find("--sequence: the network 'a' takes images") != std::string::npos);
}

}  // namespace stagecraft::model_networks_test
