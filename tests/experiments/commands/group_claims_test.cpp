// Planners see groups as devices of a platform of groups. What these exchange there takes as long as among the members
// themselves, also inside a group: a claim that is an evaluation on it equals that of the whole plan.
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::group_claims_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

struct Times {
  double claimed = 0.0;
  double evaluated = 0.0;
};

Times times_of(const std::string& planner, const std::string& zero, const Words& groups) {
  const stagecraft::Folder folder;
  Words words{
      "plan",         "--model", "mixtral-8x7b",          "--granularity", "block",  "--platform", "superpod-h100-64",
      "--planner",    planner,   "--global-batch",        "256",           "--zero", zero,         "--json",
      "--no-timings", "-o",      folder.file("plan.json")};
  words.insert(words.end(), groups.begin(), groups.end());
  const Ran ran = run(words);
  CAPTURE(ran.err);
  REQUIRE(ran.code == 0);
  const Json plan = Json::parse(test::content_of(folder.file("plan.json")));
  return {std::stod(plan["predicted"]["iteration_time"].get<std::string>()),
          Json::parse(ran.out)["evaluated"]["iteration_time_s"].get<double>()};
}

}  // namespace

TEST_CASE("groups: a claim from an evaluation is as long as the evaluation for the members") {
  const std::vector<Words> groups{{"--expert", "8"}, {"--tensor", "2", "--expert", "8"}, {"--context", "8"}};
  for (const Words& each : groups) {
    for (const char* zero : {"0", "1"}) {
      if (each.front() == "--context" && zero == std::string("0")) continue;  // takes too much memory
      CAPTURE(each.front());
      CAPTURE(zero);
      const Times times = times_of("spp", zero, each);
      CHECK(times.claimed == doctest::Approx(times.evaluated).epsilon(1e-9));
    }
  }
}

// Experts are whole on each of the four members, so that 32 devices in one ring sum them up instead of four rings of
// 8, all of them at the same time.
TEST_CASE("groups: a formula's claim has the rings of experts apart from the others") {
  for (const char* zero : {"1", "2"}) {
    CAPTURE(zero);
    const Times times = times_of("uniform", zero, {"--tensor", "4", "--set", "stages=4"});
    CHECK(times.claimed == doctest::Approx(times.evaluated).epsilon(0.05));
  }
}

}  // namespace stagecraft::group_claims_test
