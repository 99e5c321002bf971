// Planners that are programs. How they fail is in tests/vectors/commands/external.txt.
#include "experiments/run/external_planner.hpp"

#include "experiments/run/planning.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::external_planner_test {
namespace {

using Json = nlohmann::json;

const std::string kRoot = STAGECRAFT_SOURCE_DIR;
const std::string kFake = "exec:" + kRoot + "/tests/vectors/commands/planner.sh";
const std::string kExample = "exec:" + kRoot + "/examples/planners/balanced.py";

std::vector<std::string> toy(const std::string& verb, const std::vector<std::string>& more) {
  std::vector<std::string> words{verb,
                                 "--model",
                                 kRoot + "/tests/vectors/good/model_toy.yaml",
                                 "--platform",
                                 kRoot + "/tests/vectors/good/platform_two_nodes.yaml",
                                 "--json",
                                 "--no-timings"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Json plan_toy(const std::string& what, const std::vector<std::string>& more = {"--microbatches", "8"}) {
  std::vector<std::string> words = toy("plan", more);
  words.insert(words.end(), {"--planner", kFake, "--set", "case=" + what});
  const Ran ran = run(words);
  CAPTURE(ran.out);
  REQUIRE(ran.code == 0);
  return Json::parse(ran.out);
}

bool has_python() {
  return std::system("python3 -c 'pass' >/dev/null 2>&1") == 0;
}  // NOLINT(cert-env33-c,concurrency-mt-unsafe)

TEST_CASE("external planner: its plan is taken with its details, under the name it was called by") {
  const Json answer = plan_toy("detailed");
  CHECK(answer["planner"] == kFake);
  CHECK(answer["plan"]["planner"] == kFake);
  CHECK(answer["plan"]["model"] == "toy");
  CHECK(answer["plan"]["model_hash"].get<std::string>().size() == 64);
  CHECK(answer["details"]["rounds"] == 7);
  CHECK(answer["stages"].size() == 2);
  CHECK(answer["evaluated"]["iteration_time_s"].get<double>() > 0.0);
  CHECK(answer["predicted"]["iteration_time_s"].is_null());
  CHECK(plan_toy("good")["plan"] == answer["plan"]);
}

TEST_CASE("external planner: what its answer leaves out is as it was asked for") {
  const Json plan = plan_toy("good", {"--microbatches", "8", "--training", "optimizer_copies=1"})["plan"];
  CHECK(plan["training"]["optimizer_copies"] == 1);
  CHECK(plan_toy("training", {"--microbatches", "8", "--training",
                              "optimizer_copies=0"})["plan"]["training"]["optimizer_copies"] == 0);
}

TEST_CASE("external planner: what it starts and leaves running does not keep us") {
  const auto began = std::chrono::steady_clock::now();
  CHECK(plan_toy("family")["stages"].size() == 2);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
}

TEST_CASE("external planner: one that has no plan says why, and is asked once") {
  std::vector<std::string> words = toy("plan", {"--planner", kFake, "--set", "case=infeasible"});
  const Ran ran = run(words);
  CHECK(ran.code == 3);
  const Json answer = Json::parse(ran.out);
  CHECK(answer["outcome"] == "infeasible");
  CHECK(answer["device"] == "gpu1");
  CHECK(answer["excess_bytes"] == 1048576);
  CHECK(answer["smallest_memory_bytes"] == 2147483648);
  CHECK(answer["largest_microbatch_size"].is_null());
}

TEST_CASE("external planner: one that fails is a row of a comparison, told once by its name") {
  const std::vector<std::string> more = {"--microbatches",      "8",     "--planners",      "uniform," + kFake, "--set",
                                         kFake + ".case=crash", "--set", "uniform.stages=2"};
  const Ran ran = run(toy("compare", more));
  REQUIRE(ran.code == 0);
  const Json rows = Json::parse(ran.out)["models"][0]["rows"];
  CHECK(rows[0]["simulation"]["outcome"] == "ok");
  CHECK(rows[1]["outcome"] == "refused");
  CHECK(rows[1]["reason"].get<std::string>() == kFake + ": was killed by signal 11 (Segmentation fault)");
}

TEST_CASE("external planner: options go to the planner they name, whatever its path holds") {
  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary / "stagecraft.external=1";
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(kFake.substr(5), folder / "a.b=c");
  std::filesystem::copy_file(kFake.substr(5), folder / "a");
  const std::string longer = "exec:" + (folder / "a.b=c").string();
  const std::string shorter = "exec:" + (folder / "a").string();
  std::vector<std::string> more = {"--microbatches", "8", "--planners", shorter + "," + longer};
  more.insert(more.end(), {"--set", longer + ".case=good", "--set", shorter + ".case=detailed"});
  const Ran ran = run(toy("compare", more));
  CAPTURE(ran.out);
  REQUIRE(ran.code == 0);
  const Json rows = Json::parse(ran.out)["models"][0]["rows"];
  CHECK(rows[0]["simulation"]["outcome"] == "ok");
  CHECK(rows[0]["details"]["rounds"] == 7);
  CHECK(rows[1]["simulation"]["outcome"] == "ok");
  CHECK(rows[1]["details"].empty());
}

TEST_CASE("external planner: a relative path starts where it is told, and a late answer has its own exception") {
  const std::string folder = kRoot + "/tests/vectors/commands";
  CHECK(resolve_planner("exec:planner.sh", {}, folder)->name == "exec:planner.sh");
  CHECK_THROWS_WITH_AS(static_cast<void>(resolve_planner("exec:planner.sh", {}, kRoot)),
                       doctest::Contains("exec:planner.sh: no such file"), InputError);
  CHECK(resolve_planner("uniform")->name == "uniform");
  const Inputs inputs = load_inputs("vgg16", "p3.8xlarge-x4", {});
  PlanningChoices choices;
  choices.options = {{"case", "hang"}};
  const auto slow = resolve_planner("exec:planner.sh", {.time_limit = Seconds(0.2), .seed = {}}, folder);
  CHECK_THROWS_AS(static_cast<void>(make_plan(*slow, inputs, choices, [](const std::string&) {})), PlannerTimeout);
}

TEST_CASE("external planner: the example balances stages as our own planner does, where memory does not matter") {
  if (!has_python()) {
    MESSAGE("skipped: no python3 here");
    return;
  }
  const auto plan = [](const std::string& planner, const std::string& stages) {
    return run({"plan", "--model", "bert-large-a100", "--platform", "dgx-a100", "--planner", planner, "--set",
                "stages=" + stages, "--set", "replicas=1", "--json", "--no-timings"});
  };
  for (const char* stages : {"1", "2", "5", "8"}) {
    CAPTURE(stages);
    const Ran theirs = plan(kExample, stages);
    CAPTURE(theirs.out);
    REQUIRE(theirs.code == 0);
    const Json example = Json::parse(theirs.out);
    const Json uniform = Json::parse(plan("uniform", stages).out);
    const auto is_same = [&](const char* group, const char* figure) {
      return example[group][figure].get<double>() ==
             doctest::Approx(uniform[group][figure].get<double>()).epsilon(1e-9);
    };
    CHECK(is_same("details", "stage_time_s"));
    CHECK(is_same("evaluated", "iteration_time_s"));
  }
  const Ran refused = plan(kExample, "99");
  CHECK(refused.code == 2);
  CHECK(refused.out.find("stages: expected a whole number from 1 to 8, found 99") != std::string::npos);
}

TEST_CASE("external planner: the example minds memory, on any graph, and is compared") {
  if (!has_python()) {
    MESSAGE("skipped: no python3 here");
    return;
  }
  const Ran compared = run({"compare", "--model", "transformer-big", "--model", "vgg16", "--platform", "p3.8xlarge-x4",
                            "--planners", "uniform," + kExample, "--set", kExample + ".stages=4", "--json"});
  CAPTURE(compared.out);
  REQUIRE(compared.code == 0);
  for (const Json& model : Json::parse(compared.out)["models"]) {
    CHECK(model["rows"][1]["planner"] == kExample);
    CHECK(model["rows"][1]["simulation"]["outcome"] == "ok");
  }
  const Ran large = run({"plan", "--model", "vgg16", "--platform", "p3.8xlarge-x4", "--planner", kExample, "--set",
                         "stages=1", "--microbatch-size", "512"});
  CHECK(large.code == 3);
  CHECK(large.out.find("no plan: no cut into 1 stages of one device each fits") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft::external_planner_test
