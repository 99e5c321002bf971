// describe: lengths of samples, and devices that share a line.
#include "tests/experiments/commands/command.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::describe_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Json described(Words words) {
  words.insert(words.begin(), "describe");
  words.emplace_back("--json");
  const Ran ran = run(words);
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

/// Of one sample: without attention it grows with the tokens, with it faster, but at most with their square.
double flops(const std::string& network, const Words& more) {
  Words words{network};
  words.insert(words.end(), more.begin(), more.end());
  return described(words).at("forward_flops_per_sample").get<double>();
}

}  // namespace

TEST_CASE("describe: a network by name and a config.json have the tokens that --sequence says") {
  const std::string config = std::string(STAGECRAFT_SOURCE_DIR) + "/tests/vectors/good/config_llama2_7b.json";
  for (const std::string& network : {std::string("llama3-8b"), config}) {
    const double half = flops(network, {"--sequence", "1024"});
    const double whole = flops(network, {"--sequence", "2048"});
    CHECK(whole > 2 * half);
    CHECK(whole < 4 * half);
    const Json told = described({network, "--sequence", "1024"});
    CHECK(told.at("input_bytes_per_sample") == 1024 * 8);  // an index of 8 bytes for each token
  }
}

TEST_CASE("describe: a model file without figures is computed as the options say") {
  const stagecraft::Folder folder;  // another test has one, too
  const std::string path = folder.file("recipe.yaml");
  REQUIRE(run({"model", "gpt2-small", "--device", "A100-SXM4-40GB", "--microbatch-size", "1", "--recipe", "-o", path})
              .code == 0);
  const auto text = [&](const Words& more) {
    Words words{"describe", path};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run(words);
    REQUIRE(ran.code == 0);
    return ran.out;
  };
  CHECK(text({"--precision", "fp32"}) != text({}));
  CHECK(text({"--sequence", "128"}) != text({}));
  CHECK(text({"--granularity", "block"}) != text({}));
}

TEST_CASE("describe: devices in a row whose memory reads the same share a line") {
  const stagecraft::Folder folder;  // another test has one, too
  const std::string path = folder.file("plan.yaml");
  REQUIRE(run({"plan", "--model", "gpt2-small", "--platform", "dgx-a100", "--planner", "uniform", "--set",
               "uniform.stages=1", "-o", path})
              .code == 0);
  const Ran ran = run({"describe", path});
  REQUIRE(ran.code == 0);
  CHECK(ran.out.find("\ngpu0..gpu7 ") != std::string::npos);  // 8 replicas of one stage
  CHECK(ran.out.find("\ngpu1 ") == std::string::npos);
  CHECK(described({path}).at("memory_bytes").size() == 8);
}

TEST_CASE("describe: a platform says what products hide of the exchanges of tensor groups, if anything") {
  const auto text = [](const std::string& file) {
    const Ran ran = run({"describe", std::string(STAGECRAFT_SOURCE_DIR) + "/validation/" + file});
    REQUIRE(ran.code == 0);
    return ran.out;
  };
  CHECK(text("dgxc-h100.yaml").find("\ntensor groups: products hide 71.0 % of gathers and scatters\n") !=
        std::string::npos);
  CHECK(text("b200-node.yaml").find("products hide") == std::string::npos);
}

}  // namespace stagecraft::describe_test
