// Imports of PipeDream's plans: what a configuration of its runtime means for the schedule, and the notes.
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::import_pipedream_test {
namespace {

using Json = nlohmann::json;
using InFlight = std::vector<std::optional<std::int64_t>>;

const std::string kVectors = STAGECRAFT_SOURCE_DIR "/tests/vectors/";

/// The plan of a graph of four stages, all of the toy's layers, with a configuration of PipeDream's runtime.
std::pair<Json, std::string> plan_with(const std::string& conf, const std::vector<std::string>& more = {}) {
  test::TemporaryFolder folder;
  const std::string ranks = folder.path() + "/conf.json";
  std::ofstream(ranks) << conf;
  std::vector<std::string> arguments = {"import",
                                        "pipedream-plan",
                                        kVectors + "commands/pipedream_four_stages.graph",
                                        "--ranks",
                                        ranks,
                                        "--model",
                                        kVectors + "good/model_toy.yaml",
                                        "--platform",
                                        kVectors + "good/platform_two_nodes.yaml",
                                        "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Ran ran = run(arguments);
  CHECK(ran.code == 0);
  return {Json::parse(ran.out), ran.err};
}

std::string chain_with(const std::string& depths) {
  return R"({"module_to_stage_map": [0, 1, 2, 3, 3], "stage_to_rank_map": {"0": [0], "1": [1], "2": [2], "3": [3]},
             "stage_to_depth_map": )" +
         depths + "}";
}

InFlight caps_of(const Json& plan) {
  InFlight caps;
  for (const Json& stage : plan.at("stages")) {
    caps.push_back(stage.contains("in_flight") ? std::optional(stage.at("in_flight").get<std::int64_t>())
                                               : std::nullopt);
  }
  return caps;
}

// On four stages of one rank, PipeDream's rule gives 3, 2, 1 and 0 warm-up forwards, as does the schedule.
TEST_CASE("import pipedream-plan: depths as PipeDream counts them itself leave the schedule as it is") {
  const auto [plan, said] = plan_with(chain_with(R"({"0": 3, "1": 2, "2": 1, "3": 0})"));
  CHECK(plan.at("schedule") == Json{{"name", "pipedream"}});
  CHECK(caps_of(plan) == InFlight(4));
  CHECK(said.empty());
}

TEST_CASE("import pipedream-plan: fewer warm-up forwards are a cap of one more") {
  const auto [plan, said] = plan_with(chain_with(R"({"0": 1, "1": 1, "2": 1, "3": 0})"));
  CHECK(plan.at("schedule") == Json{{"name", "pipedream"}});
  CHECK(caps_of(plan) == InFlight{2, 2, {}, {}});
  CHECK(said.empty());
}

// Twice the rule is 6, 4, 2 and 0.
TEST_CASE("import pipedream-plan: more warm-up forwards take a multiple of the schedule's") {
  const auto [plan, said] = plan_with(chain_with(R"({"0": 5, "1": 4, "2": 2, "3": 0})"));
  CHECK(plan.at("schedule") == Json{{"name", "pipedream"}, {"depth", 2}});
  CHECK(caps_of(plan) == InFlight{6, {}, {}, {}});
  CHECK(said.empty());
}

// ceil(40 / 3) = 14 times the rule: 42, 28, 14 and 0. A replica runs more than the 16 microbatches of the least run.
TEST_CASE("import pipedream-plan: many warm-up forwards are not cut off by the length of the run") {
  const auto [plan, said] = plan_with(chain_with(R"({"0": 40, "1": 28, "2": 14, "3": 0})"));
  CHECK(plan.at("schedule") == Json{{"name", "pipedream"}, {"depth", 14}});
  CHECK(caps_of(plan) == InFlight{41, {}, {}, {}});
  CHECK(said.empty());
}

TEST_CASE("import pipedream-plan: warm-up forwards that the schedule cannot have are told") {
  const auto [plan, said] = plan_with(chain_with(R"({"0": 3, "1": 2, "2": 1, "3": 2})"));
  CHECK(caps_of(plan) == InFlight(4));
  CHECK(said.find(
            "stage_to_depth_map means 3 microbatches in flight on stage 3, but with pipedream there are at most 1") !=
        std::string::npos);
  const auto [chosen, told] =
      plan_with(chain_with(R"({"0": 5, "1": 1, "2": 1, "3": 0})"), {"--schedule", "pipedream,depth=1"});
  CHECK(caps_of(chosen) == InFlight{{}, 2, {}, {}});
  CHECK(told.find("means 6 microbatches in flight on stage 0, but with pipedream,depth=1 there are at most 4") !=
        std::string::npos);
}

// Three ranks and one: floor((4 - 1) / 3) = 1 warm-up forward on each of the three.
TEST_CASE("import pipedream-plan: with replicas, a depth is what each of them runs") {
  const auto [plan, said] = plan_with(R"({"module_to_stage_map": [0, 0, 0, 1, 1],
      "stage_to_rank_map": {"0": [0, 1, 2], "1": [3]}, "stage_to_depth_map": {"0": 1, "1": 0}})");
  CHECK(caps_of(plan) == InFlight(2));
  CHECK(plan.at("stages").at(0).at("devices").size() == 3);
  CHECK(said.empty());
}

TEST_CASE("import pipedream-plan: the program's live weights are one version more") {
  const std::vector<std::string> live{"--live-weights"};
  const auto [plan, said] = plan_with(chain_with("null"), live);
  std::vector<std::int64_t> versions;
  for (const Json& stage : plan.at("stages")) versions.push_back(stage.at("weight_versions").get<std::int64_t>());
  CHECK(versions == std::vector<std::int64_t>{5, 4, 3, 2});
  CHECK(said.empty());
}

TEST_CASE("import pipedream: a graph with stages becomes a model, and a note tells how to get the plan") {
  const auto said = [](const std::string& graph) {
    return run({"import", "pipedream", kVectors + "commands/" + graph, "--microbatch-size", "1", "--device", "A"}).err;
  };
  CHECK(said("pipedream_toy.graph").find("stagecraft import pipedream-plan") != std::string::npos);
  CHECK(said("pipedream_two.graph").empty());
}

}  // namespace
}  // namespace stagecraft::import_pipedream_test
