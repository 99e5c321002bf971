// What no plan beats, beside a run and beside the rows of a comparison.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::ladder_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Json least_of(const Toy& toy, const Words& more) {
  Words words{"--json"};
  words.insert(words.end(), more.begin(), more.end());
  return Json::parse(toy.on("simulate", words).out)["least_possible"];
}

}  // namespace

// Two devices compute 8 microbatches of 60 ms. In two stages the first forward and the last backward are of one of
// them alone, 30 ms, with two transfers of 1 ms.
TEST_CASE("least possible: a run stands above the bounds of its plan, of its class and of the work") {
  const Toy toy;
  const Json least = least_of(toy, {});
  const double time = Json::parse(toy.on("simulate", {"--json"}).out)["iteration_time_s"].get<double>();
  CHECK(time == doctest::Approx(0.272));
  CHECK(least["work_s"].get<double>() == doctest::Approx(0.24));
  CHECK(least["any_plan_of_class_s"].get<double>() >= least["work_s"].get<double>());
  CHECK(least["any_order_s"].get<double>() == doctest::Approx(0.272));
  CHECK(least["over_any_plan_of_class"].get<double>() ==
        doctest::Approx(time / least["any_plan_of_class_s"].get<double>()));
}

TEST_CASE("least possible: plan and an evaluation of its plan say the same") {
  const Toy toy;
  const Ran planned = toy.on("plan", {"--planner", "uniform", "--set", "uniform.stages=2", "--json", "-o", toy.plan});
  REQUIRE(planned.code == 0);
  const Json least = Json::parse(planned.out)["least_possible"];
  CHECK(least.is_object());
  CHECK(least_of(toy, {"--engine", "evaluate"}) == least);
}

TEST_CASE("least possible: none without links, and for plans that do not flush") {
  const Toy toy;
  CHECK(least_of(toy, {"--engine", "evaluate", "--network", "analytic"}).is_null());
  REQUIRE(toy.on("plan", {"--planner", "pipedream", "-o", toy.plan}).code == 0);
  CHECK(least_of(toy, {}).is_null());
}

TEST_CASE("least possible: a table takes the place of the line, which other runs keep") {
  const Toy toy;
  const std::string flushed = toy.on("simulate").out;
  CHECK(flushed.find("\nany contiguous flushed plan ") != std::string::npos);
  CHECK(flushed.find("least possible: ") == std::string::npos);
  REQUIRE(toy.on("plan", {"--planner", "pipedream", "-o", toy.plan}).code == 0);
  const std::string other = toy.on("simulate").out;
  CHECK(other.find("\nany contiguous flushed plan ") == std::string::npos);
  CHECK(other.find("least possible: ") != std::string::npos);
}

TEST_CASE("least possible: compare has it of each row of the class, as simulate has it") {
  const Toy toy;
  const Words planners{"--planners", "uniform,pipedream", "--microbatches", "8"};
  Words wide = planners;
  wide.emplace_back("--wide");
  CHECK(toy.on("compare", wide).out.find("  x best  x class  ") != std::string::npos);
  Words json = planners;
  json.emplace_back("--json");
  for (const Json& row : Json::parse(toy.on("compare", json).out)["models"][0]["rows"]) {
    CHECK(row["simulation"]["least_possible"].is_object() == (row["planner"] == "uniform"));
  }
}

}  // namespace stagecraft::ladder_test
