// The microbatch size `auto` of plan and compare.
#include "tests/experiments/commands/command.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

std::vector<std::string> on_dgx(const std::string& verb, const std::vector<std::string>& more) {
  std::vector<std::string> arguments{verb,         "--model",      "vgg16",
                                     "--platform", "dgx-1-v100",   "--global-batch",
                                     "512",        "--no-timings", "--microbatch-size"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_CASE("auto: compare has for each planner the plan that plan makes, and shows sizes that differ") {
  const Ran table = run(on_dgx("compare", {"auto", "--planners", "contiguous,data-parallel"}));
  REQUIRE(table.code == 0);
  CHECK(table.out.find(", microbatches of several sizes\n") != std::string::npos);
  const Ran ran = run(on_dgx("compare", {"auto", "--planners", "contiguous,data-parallel", "--json"}));
  std::set<std::int64_t> sizes;
  const nlohmann::json answer = nlohmann::json::parse(ran.out);
  for (const nlohmann::json& row : answer["models"][0]["rows"]) {
    const std::string planner = row["planner"];
    CAPTURE(planner);
    const Ran alone = run(on_dgx("plan", {"auto", "--planner", planner, "--json"}));
    const nlohmann::json plan = nlohmann::json::parse(alone.out);
    CHECK(row["plan"] == plan["plan"]);
    const std::string size = std::to_string(row["plan"]["microbatch_size"].get<std::int64_t>());
    CHECK(alone.err.find(planner + ": microbatches of " + size + " samples are the fastest") != std::string::npos);
    CHECK(nlohmann::json::parse(run(on_dgx("plan", {size, "--planner", planner, "--json"})).out) == plan);
    sizes.insert(row["plan"]["microbatch_size"].get<std::int64_t>());
  }
  CHECK(sizes.size() == 2);
}

TEST_CASE("auto: a table of rows of one size names it in its title") {
  const Ran ran = run(on_dgx("compare", {"auto", "--planners", "uniform,data-parallel"}));
  CHECK(ran.out.substr(0, ran.out.find('\n')).ends_with(", microbatches of 64 samples"));
}

TEST_CASE("plan: an asynchronous run is by default long enough to measure") {
  const Toy toy;
  const auto run = [&](std::vector<std::string> more) {
    for (const char* one : {"--planner", "uniform", "--schedule", "pipedream", "--set", "stages=2"})
      more.push_back(one);
    return toy.on("plan", more);
  };
  const Ran ran = run({"--json"});
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["plan"]["microbatches"].get<int>() > 8);
  // A microbatch is away from stage 0 for 1 + 10 + 20 + 1 ms and in it for 30 ms, and two are in flight: 62 / 2 ms.
  CHECK(json["evaluated"]["period_s"].get<double>() == doctest::Approx(0.031).epsilon(1e-9));
  const Ran few = run({"--microbatches", "5"});
  CHECK(few.code == 0);
  const std::string length = std::to_string(json["plan"]["microbatches"].get<int>());
  CHECK(few.out.find(", " + length + " microbatches") != std::string::npos);
  const Ran exactly = run({"--run-length", "5"});
  CHECK(exactly.code == 2);
  CHECK(exactly.err.find("at least " + length) != std::string::npos);
}

TEST_CASE("auto: where no size fits, the answer is that for the smallest, also with as much memory as it wants") {
  const Toy toy;
  const std::vector<std::string> huge{
      "--planner", "gpipe", "--global-batch", "8", "--training", "optimizer_copies=200", "--no-timings"};
  const auto with = [&](std::vector<std::string> options) {
    options.insert(options.begin(), huge.begin(), huge.end());
    return toy.on("plan", options);
  };
  const Ran ran = with({"--microbatch-size", "auto"});
  CHECK(ran.code == 3);
  CHECK(ran.out == with({"--microbatch-size", "4"}).out);
  CHECK(ran.err.find("no microbatch size fits; tried: 4 (does not fit)") != std::string::npos);
  const Ran despite = with({"--microbatch-size", "auto", "--despite-memory"});
  CHECK(despite.out == with({"--microbatch-size", "4", "--despite-memory"}).out);
}

}  // namespace
}  // namespace stagecraft
