// `--context` and `--expert`: what a plan says of its groups, and how many microbatches make a global batch.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::group_options_test {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

/// A plan for one node, whether or not it fits.
Ran planned(const Words& more) {
  Words words{"plan",     "--model",  "mixtral-8x7b", "--sequence", "128",     "--platform",
              "dgx-a100", "--memory", "keep",         "--planner",  "uniform", "--despite-memory"};
  words.insert(words.end(), more.begin(), more.end());
  return run(words);
}

}  // namespace

TEST_CASE("--context, --expert: a plan says which groups run it, in its file, too") {
  const stagecraft::Folder folder;
  const std::string file = folder.file("plan.yaml");
  const Ran ran = planned({"--tp", "2", "--cp", "2", "--ep", "4", "--imbalance", "1.25", "--context-attention",
                           "all-gather", "--global-batch", "8", "--no-timings", "-o", file});
  CAPTURE(ran.err);
  CHECK(ran.out.find("8 microbatches of 1 sample on groups of 4 devices (tensor 2, context 2 with all-gather "
                     "attention, expert 4 with imbalance 1.25)\n") != std::string::npos);
  CHECK(read(file).find("groups: {tensor: 2, sequence: true, context: 2, attention: all-gather, expert: 4, "
                        "imbalance: 1.25}") != std::string::npos);
  const Ran json = planned({"--context", "2", "--json", "--no-timings"});
  CHECK(Json::parse(json.out)["plan"]["groups"] == Json{{"context", 2}});
}

TEST_CASE("--expert: members with samples of their own share a global batch with the replicas") {
  const auto plan = [](const Words& more) {
    Words words{"--global-batch", "64", "--json", "--no-timings"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = planned(words);
    CAPTURE(ran.err);
    REQUIRE(ran.out.starts_with("{"));
    return Json::parse(ran.out)["plan"];
  };
  const Json alone = plan({"--tensor", "8", "--expert", "8", "--microbatch-size", "2"});
  CHECK(alone["microbatches"] == 32);
  const Json four = plan({"--tensor", "2", "--expert", "8", "--microbatch-size", "2"});
  CHECK(four["microbatch_size"] == 2);
  CHECK(four["microbatches"] == 8);
  CHECK(plan({"--expert", "8"})["microbatches"] == 8);
  const Json update =
      Json::parse(planned({"--expert", "8", "--samples-per-update", "64", "--json", "--no-timings"}).out)["plan"];
  CHECK(update["microbatches"] == 8);
}

TEST_CASE("--tensor auto: groups have the context and expert degrees that are given") {
  const Ran ran = planned({"--tensor", "auto", "--context", "4", "--global-batch", "8", "--no-timings"});
  CHECK(ran.err.find("tried: 1 (") != std::string::npos);
  CHECK(ran.err.find(", 2 (") != std::string::npos);
  CHECK(ran.err.find(", 4 (") == std::string::npos);
}

}  // namespace stagecraft::group_options_test
