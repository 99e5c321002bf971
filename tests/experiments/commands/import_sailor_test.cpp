// Profiles for Sailor's planner, with networks of all sources and what the user is told of them.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::import_sailor_command_test {
namespace {

using Json = nlohmann::json;

/// `blocks` equal blocks between an embedding and layers of these times.
Json layers_of(int blocks, const std::vector<double>& last) {
  Json layers = {{"0", {1e-4, 0, 1e-3}}};
  for (int i = 1; i <= blocks; ++i) layers[std::to_string(i)] = {2e-3, 4e-3, 1e-3};
  for (const double time : last) layers[std::to_string(layers.size())] = {time, time, 1e-3};
  return layers;
}

const std::string kNetwork = R"(schema: stagecraft/architecture/1
architecture: small
family: gpt
layers: 3
hidden: 64
heads: 4
sequence: 32
vocabulary: 1600
)";

const std::string kConfig = R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
  "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 4096,
  "max_position_embeddings": 256, "hidden_act": "silu", "tie_word_embeddings": false, "rms_norm_eps": 1e-5})";

struct Imported {
  Ran ran;
  Json model;
};

Imported imported(const Folder& folder, const Json& profile, const std::string& model,
                  const std::vector<std::string>& more = {}) {
  write(folder.file("profile.json"), profile.dump());
  std::vector<std::string> command = {"import", "sailor", folder.file("profile.json"), "--model", model, "--device",
                                      "GH-96",  "-o",     folder.file("model.json")};
  command.insert(command.end(), more.begin(), more.end());
  const Ran ran = run(command);
  REQUIRE_MESSAGE(ran.code == 0, ran.err);
  return {ran, Json::parse(read(folder.file("model.json")))};
}

}  // namespace

TEST_CASE("import sailor: notes tell what is left out, a warning what the profile lacks") {
  const Folder folder;
  write(folder.file("small.yaml"), kNetwork);
  const Imported whole = imported(folder, {{"4", {{"1", layers_of(3, {4e-3})}}}}, folder.file("small.yaml"));
  CHECK(whole.ran.err.empty());
  CHECK(whole.model["device"] == "GH-96");
  CHECK(whole.model["microbatch_size"] == 4);
  CHECK_FALSE(whole.model.contains("precision"));  // fp32
  const Json lacking = {{"4", {{"1", layers_of(3, {1e-5})}, {"2", layers_of(3, {1e-5})}}}};
  const Imported part = imported(folder, lacking, folder.file("small.yaml"), {"--precision", "tf32"});
  CHECK(part.ran.err.find("warning: the last layer takes too little time") != std::string::npos);
  CHECK(part.ran.err.find("note: the model is that of one device") != std::string::npos);
  CHECK(part.model["precision"] == "tf32");
}

TEST_CASE("import sailor: a config.json, whose last norm the profile has apart, and a network known by name") {
  const Folder folder;
  write(folder.file("config.json"), kConfig);
  const Imported llama = imported(folder, {{"1", {{"1", layers_of(8, {1e-4, 3e-3})}}}}, folder.file("config.json"));
  REQUIRE(llama.model["layers"].size() == 10);
  CHECK(llama.model["layers"][9]["name"] == "head");
  CHECK(llama.model["layers"][9]["forward"] == "0.0031 s");
  const Imported known = imported(folder, {{"1", {{"1", layers_of(12, {3e-3})}}}}, "gpt2-small");
  CHECK(known.model["model"] == "gpt2-small");
  CHECK(known.model["layers"].size() == 14);
  CHECK(known.model["tied"].size() == 1);
}

}  // namespace stagecraft::import_sailor_command_test
