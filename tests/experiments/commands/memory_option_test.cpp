// `--memory`: what a plan does that does not fit.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
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

TEST_CASE("--memory: an answer says whether the planner or the common memory policy chose what a plan saves") {
  const Heavy heavy;
  const auto by = [&](const std::string& policy, const std::string& set) {
    const Ran ran = heavy.on("compare", {"--planners", "gpipe,pipedream-sync,vpipe,dawnpiper", "--schedule", "gpipe",
                                         "--microbatches", "8", "--memory", policy, "--set", set, "--json"});
    const Json answer = Json::parse(ran.out);
    std::map<std::string, Json> chosen;
    for (const Json& row : answer["models"][0]["rows"]) {
      if (row["outcome"] == "planned") chosen[row["planner"]] = row["memory_by"];
    }
    return chosen;
  };
  std::map<std::string, Json> saved = by("cheapest", "replicas=1");
  CHECK(saved["gpipe"] == "policy");
  CHECK(saved["pipedream-sync"] == "policy");
  CHECK(saved["vpipe"] == "planner");
  CHECK(saved["dawnpiper"] == "planner");
  CHECK(by("cheapest", "gpipe.recompute=stage")["gpipe"] == "planner");
  CHECK(by("keep", "replicas=1").empty());  // no plan of one stage on each device fits as it is
  const Json plan = Json::parse(heavy.planned("cheapest").out);
  CHECK(plan["memory_by"] == "policy");
  CHECK(heavy.planned("cheapest").err.find("as the common memory policy chose") != std::string::npos);
}

TEST_CASE("compare: only what the common memory policy chose is marked, and a line says so") {
  const Heavy heavy;
  const auto text = [&](const std::string& planners) {
    return heavy
        .on("compare", {"--planners", planners, "--microbatches", "8", "--set", "replicas=1", "--schedule", "gpipe"})
        .out;
  };
  CHECK(text("gpipe").find("2r ^ ") != std::string::npos);
  CHECK(text("gpipe").find("\n^ ") != std::string::npos);
  CHECK(text("vpipe,dawnpiper").find("2r") != std::string::npos);
  CHECK(text("vpipe,dawnpiper").find('^') == std::string::npos);
}

TEST_CASE("max-batch: beside a row that the common memory policy saves stands the planner as published") {
  const Heavy heavy;
  const auto rows = [&](const std::string& policy, const std::vector<std::string>& more) {
    std::vector<std::string> options{"--planners", "gpipe,vpipe,dawnpiper", "--schedule", "gpipe",    "--set",
                                     "replicas=1", "--microbatches",        "8",          "--memory", policy,
                                     "--json"};
    options.insert(options.end(), more.begin(), more.end());
    return Json::parse(heavy.on("max-batch", options).out)["rows"];
  };
  const Json both = rows("cheapest", {"--curve"});
  std::vector<std::pair<std::string, std::string>> names;
  for (const Json& row : both) names.emplace_back(row["planner"], row["memory"]);
  CHECK(names == std::vector<std::pair<std::string, std::string>>{
                     {"gpipe", "cheapest"}, {"gpipe", "keep"}, {"vpipe", "cheapest"}, {"dawnpiper", "cheapest"}});
  for (const Json& row : both) {
    CAPTURE(row["planner"].get<std::string>());
    for (const Json& point : row["points"]) {
      const bool saves = point["recomputed_layers"].get<int>() + point["swapped_layers"].get<int>() > 0;
      CHECK(point["memory_by"].is_null() == !saves);
      if (row["memory"] == "keep") CHECK_FALSE(saves);
      if (saves) CHECK(point["memory_by"] == (row["planner"] == "gpipe" ? "policy" : "planner"));
    }
  }
  CHECK(both[0]["largest"]["memory_by"] == "policy");
  CHECK(both[2]["largest"]["memory_by"] == "planner");
  CHECK(both[0]["largest"]["microbatch_size"].get<int>() > both[1]["largest"]["microbatch_size"].get<int>());
  const Json kept = rows("keep", {});
  CHECK(kept.size() == 3);
  CHECK(kept[0]["largest"] == both[1]["largest"]);
  const Ran text = heavy.on("max-batch", {"--planners", "gpipe", "--microbatches", "8"});
  CHECK(text.out.find("\ngpipe (keep)  ") != std::string::npos);
}

TEST_CASE("--despite-memory: the plan that does not fit is written, and says so") {
  const Heavy heavy;
  const std::string written = heavy.file("written.yaml");
  CHECK(heavy.planned("keep", {"-o", written}).code == 3);
  CHECK(read(written).empty());
  const Ran ran = heavy.planned("keep", {"--despite-memory", "-o", written});
  CHECK(ran.code == 3);
  CHECK(ran.err.find("this is the plan for devices with ") != std::string::npos);
  CHECK(Json::parse(ran.out)["outcome"] == "out_of_memory");
  CHECK(run({"simulate", written, "--model", heavy.model, "--platform", heavy.platform}).code == 3);
  CHECK(heavy.planned("recompute", {"--despite-memory"}).code == 0);  // what fits is the answer
}

// The optimizer takes 200 MB of each layer, and a device has 100 MB: no stage fits, whatever it recomputes.
TEST_CASE("--despite-memory: the plan is that for the least memory, which the answer without it names") {
  const Heavy heavy;
  const std::vector<std::string> options{"--planner", "gpipe",      "--microbatches",      "8",
                                         "--json",    "--training", "optimizer_copies=200"};
  std::vector<std::string> despite = options;
  despite.emplace_back("--despite-memory");
  const auto least = Json::parse(heavy.on("plan", options).out)["smallest_memory_bytes"].get<double>();
  const Ran ran = heavy.on("plan", despite);
  CHECK(ran.code == 3);
  CHECK(ran.err.find(", the least with which gpipe has one") != std::string::npos);
  double most = 0.0;
  const Json plan = Json::parse(ran.out);
  for (const Json& stage : plan["stages"]) most = std::max(most, stage["memory_bytes"].get<double>());
  CHECK(most <= least);
  CHECK(most > 200e6);
}

// Eight microbatches with a stash of 20 MB each are 160 MB, or 153 MiB; five are no more than the 100 MB of the device.
TEST_CASE("plan: says where more is swapped in an iteration than a device has memory") {
  const Heavy heavy;
  write(heavy.platform, R"(schema: stagecraft/platform/1
platform: pair
device_kinds: {A: {memory: 100 MB, speed: 1}}
devices:
  - {name: a, kind: A, host: {memory: 10 GB, link: {bandwidth: 12 GBps, latency: 5 us}}}
  - {name: b, kind: A}
links: [{between: [a, b], bandwidth: 1 GBps, latency: 0}]
)");
  const auto told = [&](const std::string& microbatches, const std::string& swap) {
    write(heavy.plan, "schema: stagecraft/plan/1\nmicrobatch_size: 4\nmicrobatches: " + microbatches + R"(
schedule: {name: gpipe}
stages:
  - {layers: [first], devices: [a], swap: [)" +
                          swap + R"(]}
  - {layers: [second], devices: [b]}
)");
    const Ran ran = run({"describe", heavy.plan, "--model", heavy.model, "--platform", heavy.platform});
    CHECK(ran.code == 0);
    return ran.out;
  };
  CHECK(told("8", "first")
            .find("\na swaps 153 MiB to its host and back in each iteration, which is more than its memory\n") !=
        std::string::npos);
  CHECK(told("5", "first").find("to its host and back") == std::string::npos);
  // Of eight the first two of every three: 6 of 20 MB, or 114 MiB.
  CHECK(told("8", "{layers: [first], microbatches: {first: 2, of: 3}}").find("\na swaps 114 MiB ") !=
        std::string::npos);
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
