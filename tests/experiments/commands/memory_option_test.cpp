// `--memory`: what a plan does that does not fit.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// The toy with a stash of 20 MB in each layer and 8 microbatches in flight: kept stashes take 160 MB of 100 MB, and
/// recomputed ones 8 MB and the one that is made again.
struct Heavy : Toy {
  Heavy() {
    write(model, R"(schema: stagecraft/model/1
model: heavy
device: A
microbatch_size: 4
source: "made up for the tests"
input: 1 MB
layers:
  - {name: first, forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 1 MB, stash: 20 MB}
  - {name: second, forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 1 MB, stash: 20 MB}
)");
  }
  [[nodiscard]] Ran planned(const std::string& policy, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> options{"--planner", "gpipe",    "--set", "replicas=1", "--microbatches",
                                     "8",         "--memory", policy,  "--json"};
    options.insert(options.end(), more.begin(), more.end());
    return on("plan", options);
  }
};

}  // namespace

TEST_CASE("plan: a refusal says whether other numbers of stages were tried") {
  const Heavy heavy;
  const auto hint = [&](const std::vector<std::string>& more) {
    std::vector<std::string> options{"--planner", "gpipe", "--memory", "keep", "--microbatches", "8"};
    options.insert(options.end(), more.begin(), more.end());
    const Ran ran = heavy.on("plan", options);
    CHECK(ran.code == 3);
    return ran.out.find("other numbers were not tried (--set stages=N)") != std::string::npos;
  };
  CHECK(hint({"--set", "stages=2"}));
  CHECK(hint({"--set", "replicas=1"}));
  CHECK_FALSE(hint({}));
}

TEST_CASE("--memory: a plan that does not fit is refused, or recomputes") {
  const Heavy heavy;
  CHECK(heavy.on("plan", {"--planner", "gpipe", "--microbatches", "8"}).code == 0);  // cheapest
  CHECK(heavy.planned("keep").code == 3);
  CHECK(heavy.planned("swap").code == 3);  // the platform has no hosts
  for (const char* policy : {"recompute", "cheapest"}) {
    CAPTURE(policy);
    const Ran ran = heavy.planned(policy, {"-o", heavy.plan});
    CHECK(ran.code == 0);
    CHECK(ran.err.find("the plan recomputes 2 of 2 layers") != std::string::npos);
    // What is left of the memory keeps the stash of three microbatches, so five are made again on each device.
    const Json told = Json::parse(heavy.on("simulate", {"--json"}).out);
    CHECK(told["recompute_time_s"].get<double>() == doctest::Approx(2 * 5 * 0.010));
    CHECK(told["overflows"].empty());
  }
}

TEST_CASE("--memory: the rows of a comparison, the largest microbatch, and what would fit") {
  const Heavy heavy;
  const auto outcome = [&](const std::string& policy) {
    const Ran ran = heavy.on("compare", {"--planners", "gpipe", "--microbatches", "8", "--memory", policy, "--json"});
    return Json::parse(ran.out)["models"][0]["rows"][0]["outcome"].get<std::string>();
  };
  CHECK(outcome("keep") == "infeasible");
  CHECK(outcome("cheapest") == "planned");
  const auto largest = [&](const std::string& policy) {
    const Ran ran = heavy.on("max-batch", {"--planner", "gpipe", "--microbatches", "8", "--memory", policy, "--json"});
    return Json::parse(ran.out)["microbatch_size"].get<int>();
  };
  CHECK(largest("recompute") > 2 * largest("keep"));
  const Ran ran = heavy.planned("recompute", {"--microbatch-size", "40"});
  CHECK(ran.code == 3);
  const Json refused = Json::parse(ran.out);
  const auto least = refused["smallest_memory_bytes"].get<double>();
  CHECK(least > 200e6);  // 10 MB in each of 8 microbatches, and 200 MB that are made again
  CHECK(least < 1600e6);
}

TEST_CASE("--despite-memory: the plan that does not fit is written, and says so") {
  const Heavy heavy;
  const std::string written = heavy.file("written.yaml");
  CHECK(heavy.planned("keep", {"-o", written}).code == 3);
  CHECK(read(written).empty());
  const Ran ran = heavy.planned("keep", {"--despite-memory", "-o", written});
  CHECK(ran.code == 3);
  CHECK(ran.err.find("the plan for devices with more memory") != std::string::npos);
  CHECK(Json::parse(ran.out)["outcome"] == "out_of_memory");
  CHECK(run({"simulate", written, "--model", heavy.model, "--platform", heavy.platform}).code == 3);
  CHECK(heavy.planned("recompute", {"--despite-memory"}).code == 0);  // what fits is the answer
}

TEST_CASE("--memory: a study gives each planner its own") {
  const Heavy heavy;
  write(heavy.file("study.yaml"), R"(schema: stagecraft/study/1
study: memory
base: {model: toy.yaml, platform: pair.yaml, microbatches: 8}
matrix:
  planner: [{name: gpipe, label: kept, memory: keep}, {name: gpipe, label: saved, memory: recompute}]
)");
  REQUIRE(run({"run", heavy.file("study.yaml"), "--out", heavy.file("out")}).code != 2);
  const std::string results = read(heavy.file("out/results.csv"));
  CHECK(results.find("infeasible") != std::string::npos);
  CHECK(results.find(",ok,") != std::string::npos);
}

}  // namespace stagecraft
