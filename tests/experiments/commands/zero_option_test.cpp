// `--zero`: what the replicas of a stage divide, as texts and reports tell it.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::zero_option_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Ran planned(const Words& more) {
  Words words{"plan",           "--model",   "llama3-8b",     "--granularity", "block", "--platform",
              "dgx-h100",       "--planner", "data-parallel", "--memory",      "keep",  "--despite-memory",
              "--microbatches", "16"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

}  // namespace

TEST_CASE("--zero: a plan says what its replicas divide, and the key of --training is the same") {
  const auto divided = [](const std::string& zero) {
    const std::string text = planned({"--zero", zero, "--no-timings"}).out;
    CHECK(planned({"--training", "zero=" + zero, "--no-timings"}).out == text);
    const std::string recipe = "12 of the optimizer (recipe mixed)";
    const std::size_t at = text.find(recipe);
    REQUIRE(at != std::string::npos);
    return text.substr(at + recipe.size(), text.find('\n', at) - at - recipe.size());
  };
  CHECK(divided("0").empty());
  CHECK(divided("1") == "; replicas divide the optimizer (zero 1)");
  CHECK(divided("2") == "; replicas divide gradients and the optimizer (zero 2)");
  CHECK(divided("3") == "; replicas divide weights, gradients and the optimizer (zero 3)");
}

TEST_CASE("--zero: a plan says it without a recipe, too") {
  const Ran ran = run({"plan", "--model", "vgg16", "--platform", "dgx-1-v100", "--planner", "data-parallel", "--zero",
                       "1", "--no-timings"});
  CHECK(ran.out.find("\nreplicas divide the optimizer (zero 1)\n") != std::string::npos);
}

TEST_CASE("--zero: nothing is said to be divided where no layer has two replicas") {
  const auto text = [](const char* replicas) {
    return run({"plan", "--model", "vgg16", "--platform", "dgx-1-v100", "--planner", "uniform", "--set",
                std::string("replicas=") + replicas, "--zero", "1", "--no-timings"})
        .out;
  };
  CHECK(text("2").find("divide the optimizer (zero 1)") != std::string::npos);
  CHECK(text("1").find("zero 1)") == std::string::npos);
}

TEST_CASE("--zero: divided gradients in a pipeline are told, in a search, too") {
  const auto says = [](const Words& more) {
    Words words{"plan", "--model", "gpt2-small", "--platform", "dgx-a100", "--planner", "uniform", "--no-timings"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words).out.find("in a pipeline of 2 stages: DeepSpeed refuses it") != std::string::npos;
  };
  CHECK(says({"--set", "stages=2", "--zero", "2"}));
  CHECK(says({"--set", "stages=2", "--zero", "3"}));
  CHECK_FALSE(says({"--set", "stages=2", "--zero", "1"}));
  CHECK_FALSE(says({"--set", "stages=1", "--zero", "2"}));
  CHECK_FALSE(says({"--set", "stages=2,replicas=1", "--zero", "2"}));  // nothing is divided
  const auto searched = [](const std::string& stages) {
    const Ran ran = run({"plan", "--model", "gpt2-small", "--platform", "dgx-a100", "--planner", "uniform", "--set",
                         "stages=" + stages, "--search", "zero", "--no-timings"});
    return ran.out.find("zero 2 or 3 in a pipeline of several stages: DeepSpeed refuses it") != std::string::npos;
  };
  CHECK(searched("2"));
  CHECK_FALSE(searched("1"));
}

// 8,030,261,248 parameters in eight parts, which have 2 bytes of weights, 4 of gradients and 12 of the optimizer.
TEST_CASE("--zero: each device keeps its part of what is divided") {
  constexpr std::int64_t kAll = 8'030'261'248;
  const stagecraft::Folder folder;  // another test has one, too
  for (const std::int64_t zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    const std::string file = folder.file("plan" + std::to_string(zero) + ".yaml");
    planned({"--zero", std::to_string(zero), "-o", file});
    const Ran ran = run({"simulate", file, "--engine", "evaluate", "--json", "--no-timings"});
    const Json kept = Json::parse(ran.out)["devices"][0]["peak_breakdown"];
    CHECK(kept["weights"] == 2 * (zero >= 3 ? kAll / 8 : kAll));
    CHECK(kept["gradients"] == 4 * (zero >= 2 ? kAll / 8 : kAll));
    CHECK(kept["optimizer"] == 12 * (zero >= 1 ? kAll / 8 : kAll));
  }
}

TEST_CASE("--zero: a comparison names it") {
  const auto heading = [](const std::string& zero) {
    const std::string out = run({"compare", "--model", "vgg16", "--platform", "dgx-1-v100", "--planners", "uniform",
                                 "--microbatches", "16", "--zero", zero, "--no-timings"})
                                .out;
    return out.substr(0, out.find('\n'));
  };
  CHECK(heading("1") == heading("0") + ", zero 1");
}

}  // namespace stagecraft::zero_option_test
