// `simulate --apply N -o FILE`: the plan that would fit.
#include "sim/io/sha256.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Four stages, of two layers and of one, with a stash of 25 MB for each layer, on devices with hosts. The first stage
/// has four microbatches in flight, whose stashes take 200 MB, and 8 MB of parameters, gradients and optimizer beside
/// them. Swapped, three of them are on the device at once: one in its forward, one in its backward, and one on its way
/// back.
struct Cramped : Folder {
  std::string plan = file("plan.yaml");
  explicit Cramped(const std::string& schedule, int memory = 180) {
    std::string layers;
    for (const char* name : {"first", "second", "third", "fourth", "fifth"}) {
      layers += std::string("  - {name: ") + name +
                ", forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 1 MB, stash: 25 MB}\n";
    }
    write(file("toy.yaml"),
          "schema: stagecraft/model/1\nmodel: toy\ndevice: A\nmicrobatch_size: 4\n"
          "source: \"made up for the tests\"\ninput: 1 MB\nlayers:\n" +
              layers);
    const std::string host = ", kind: A, host: {memory: 1 GB, link: {bandwidth: 10 GBps, latency: 0}}}";
    write(file("four.yaml"), "schema: stagecraft/platform/1\nplatform: four\ndevice_kinds: {A: {memory: " +
                                 std::to_string(memory) + " MB, speed: 1}}\ndevices: [{name: a" + host + ", {name: b" +
                                 host + ", {name: c" + host + ", {name: d" + host +
                                 "]\nlinks: [{between: [a, b], bandwidth: 1 GBps, latency: 0}, "
                                 "{between: [b, c], bandwidth: 1 GBps, latency: 0}, "
                                 "{between: [c, d], bandwidth: 1 GBps, latency: 0}]\n");
    write(plan,
          "schema: stagecraft/plan/1\nplanner: by-hand\nmodel: toy\nplatform: four\nmicrobatch_size: 4\n"
          "microbatches: 64\nschedule: {name: " +
              schedule + "}\nstages:\n  - {layers: [first, second], devices: [a]}\n" +
              "  - {layers: [third], devices: [b]}\n  - {layers: [fourth], devices: [c]}\n  - {layers: [fifth], "
              "devices: [d]}\n"
              "predicted: {peak_memory: {a: 100 MB}}\n");
  }
  [[nodiscard]] Ran simulated(const std::vector<std::string>& more = {}) const { return ran("simulate", plan, more); }
  [[nodiscard]] static Ran ran(const std::string& verb, const std::string& plan,
                               const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{verb, plan};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
};

/// Everywhere in the file.
void replace(const std::string& path, const std::string& old, const std::string& replacement) {
  std::string text = read(path);
  REQUIRE(text.find(old) != std::string::npos);
  for (std::size_t at = 0; (at = text.find(old, at)) != std::string::npos; at += replacement.size()) {
    text.replace(at, old.size(), replacement);
  }
  write(path, text);
}

/// What the plan of the file says without what the changes change.
Json unchanged_part(const std::string& path) {
  Json plan = Json::parse(read(path));
  for (const char* key : {"microbatch_size", "predicted"}) plan.erase(key);
  for (Json& stage : plan["stages"]) {
    for (const char* key : {"in_flight", "recompute", "swap"}) stage.erase(key);
  }
  return plan;
}

}  // namespace

TEST_CASE("--apply: each change makes a plan that fits, and is as fast as was told") {
  for (const char* schedule : {"1f1b", "pipedream"}) {
    CAPTURE(schedule);
    const Cramped cramped(schedule);
    const Ran lacking = cramped.simulated({"--json"});
    REQUIRE(lacking.code == 3);
    const Json told = Json::parse(lacking.out)["would_fit"]["fastest_first"];
    std::set<std::string> changes;
    const std::string written = cramped.file("written.json");
    for (std::size_t i = 0; i < told.size(); ++i) {
      const std::string change = told[i]["change"];
      CAPTURE(change);
      changes.insert(change);
      std::filesystem::remove(written);
      const Ran ran = cramped.simulated({"--apply", std::to_string(i + 1), "-o", written});
      if (change == "memory") {
        CHECK(ran.code == 2);
        CHECK(ran.err.find("is one of the platform, and not of the plan") != std::string::npos);
        CHECK_FALSE(std::filesystem::exists(written));
        continue;
      }
      CHECK(ran.code == 0);
      CHECK(ran.out.ends_with("written to " + written + "\n"));
      CHECK(Cramped::ran("check", written).code == 0);
      const Ran fits = Cramped::ran("simulate", written, {"--engine", "evaluate", "--json"});
      CHECK(fits.code == 0);
      CHECK(Json::parse(fits.out)["throughput_samples_per_s"] == told[i]["throughput_samples_per_s"]);
      CHECK_FALSE(Json::parse(read(written)).contains("predicted"));
      CHECK(Json::parse(read(written))["planner"] == "by-hand");
      CHECK(Json::parse(read(written))["platform_hash"] == sha256(read(cramped.file("four.yaml"))));
    }
    CHECK(changes == std::set<std::string>{"memory", "microbatch_size", "in_flight", "recompute_layer",
                                           "recompute_stage", "swap"});
  }
}

TEST_CASE("--apply: nothing but the change is different") {
  const Cramped cramped("1f1b");
  const Json told = Json::parse(cramped.simulated({"--json"}).out)["would_fit"];
  std::map<std::string, Json> plans;
  Json others;
  for (std::size_t i = 0; i < told["fastest_first"].size(); ++i) {
    const std::string written = cramped.file("written.json");
    const std::string change = told["fastest_first"][i]["change"];
    if (cramped.simulated({"--apply", std::to_string(i + 1), "-o", written}).code != 0) continue;
    plans[change] = Json::parse(read(written));
    if (others.is_null()) others = unchanged_part(written);
    CHECK(unchanged_part(written) == others);
  }
  CHECK(plans["microbatch_size"]["microbatch_size"] == told["microbatch_size"]);
  CHECK(plans["in_flight"]["stages"][0]["in_flight"] == told["in_flight"][0]["in_flight"]);
  CHECK_FALSE(plans["in_flight"]["stages"][1].contains("in_flight"));
  CHECK(plans["recompute_stage"]["stages"][0]["recompute"] == Json::parse(R"([["first", "second"]])"));
  CHECK(plans["recompute_layer"]["stages"][0]["recompute"].size() == 2);
  CHECK(plans["swap"]["stages"][0]["swap"] == Json::parse(R"(["first", "second"])"));
}

TEST_CASE("--apply: the list has the numbers, and -o - is the plan alone") {
  const Cramped cramped("1f1b");
  const std::string text = cramped.simulated().out;
  const Json told = Json::parse(cramped.simulated({"--json"}).out)["would_fit"]["fastest_first"];
  const auto number_of = [&](const std::string& change) {
    const auto found =
        std::find_if(told.begin(), told.end(), [&](const Json& each) { return each["change"] == change; });
    return std::to_string(found - told.begin() + 1);
  };
  CHECK(text.find("\n    " + number_of("memory") + ". at least ") != std::string::npos);
  CHECK(text.find("\n    " + number_of("in_flight") + ". fewer microbatches in flight") != std::string::npos);
  const Ran yaml = cramped.simulated({"--apply", number_of("in_flight"), "-o", "-"});
  CHECK(yaml.code == 0);
  CHECK(yaml.out.starts_with("schema: stagecraft/plan/1\n"));
  CHECK(yaml.out.find("in_flight: 3") != std::string::npos);
  const Ran json = cramped.simulated({"--apply", number_of("in_flight"), "-o", "-", "--json"});
  CHECK(Json::parse(json.out)["stages"][0]["in_flight"] == 3);
}

TEST_CASE("--apply: the plan is that of the run, with its samples per update") {
  const Cramped cramped("1f1b");
  const std::string written = cramped.file("written.json");
  const Json told =
      Json::parse(cramped.simulated({"--json", "--samples-per-update", "32"}).out)["would_fit"]["fastest_first"];
  const std::string last = std::to_string(told.size());
  REQUIRE(told.back()["change"] != "memory");
  REQUIRE(cramped.simulated({"--samples-per-update", "32", "--apply", last, "-o", written}).code == 0);
  CHECK(Json::parse(read(written))["microbatches"] == 8);
  const Ran fits = Cramped::ran("simulate", written, {"--engine", "evaluate", "--json"});
  CHECK(Json::parse(fits.out)["throughput_samples_per_s"] == told.back()["throughput_samples_per_s"]);
}

TEST_CASE("--apply: what cannot be applied is refused, and nothing is written") {
  const Cramped cramped("1f1b");
  const Cramped roomy("1f1b", 300);
  const Cramped hopeless("1f1b", 1);
  const auto refuses = [](const Cramped& run, std::vector<std::string> more, const std::string& reason) {
    CAPTURE(reason);
    const std::vector<std::string> before = run.files();
    more.insert(more.end(), {"--report", run.file("run.html")});
    const Ran ran = run.simulated(more);
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.err.find(reason) != std::string::npos);
    CHECK(run.files() == before);
  };
  const std::string out = cramped.file("written.yaml");
  refuses(cramped, {"--apply", "7", "-o", out}, "--apply: there are 6 changes that would make the plan fit, found 7");
  refuses(cramped, {"--apply", "0", "-o", out}, "--apply: expected a whole number");
  refuses(cramped, {"--apply", "2"}, "--apply: needs a file");
  refuses(cramped, {"-o", out}, "--output: is for the plan that --apply changes");
  refuses(cramped, {"--apply", "2", "-o", cramped.plan}, "the command reads it");
  refuses(cramped, {"--apply", "2", "-o", cramped.file("toy.yaml")}, "the command reads it");
  refuses(cramped, {"--apply", "2", "-o", cramped.file("four.yaml")}, "the command reads it");
  refuses(cramped, {"--apply", "2", "-o", cramped.file("run.html")}, "is also the file of --report");
  refuses(roomy, {"--apply", "1", "-o", roomy.file("written.yaml")}, "the plan fits, there is nothing to apply");
  refuses(hopeless, {"--apply", "1", "-o", hopeless.file("written.yaml")}, "is one of the platform");
  refuses(hopeless, {"--apply", "2", "-o", "-"}, "there is 1 change that would make the plan fit, found 2");
  const Cramped swapping("1f1b");  // to a host of 1 MB
  replace(swapping.plan, "devices: [a]", "devices: [a], swap: [first, second]");
  replace(swapping.file("four.yaml"), "memory: 1 GB", "memory: 1 MB");
  refuses(swapping, {"--apply", "1", "-o", "-"}, "no change is known that alone would make the plan fit");
}

}  // namespace stagecraft
