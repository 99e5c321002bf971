// `compare --sends`: plans are ranked by their runs with a rule for transfers.
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft::compare_sends_test {
namespace {

using Json = nlohmann::json;

/// Four layers with tensors that take nearly as long on the link as a layer computes.
struct Slow : Toy {
  Slow() {
    std::string text =
        "schema: stagecraft/model/1\nmodel: toy\ndevice: A\nmicrobatch_size: 4\n"
        "source: \"made up for the tests\"\ninput: 1 MB\nlayers:\n";
    for (const char* name : {"first", "second", "third", "fourth"}) {
      text +=
          std::string("  - {name: ") + name + ", forward: 10 ms, backward: 20 ms, parameters: 1 MB, output: 8 MB}\n";
    }
    write(model, text);
    write(platform, R"(schema: stagecraft/platform/1
platform: pair
device_kinds: {A: {memory: 1 GB, speed: 1}}
devices: [{name: a, kind: A}, {name: b, kind: A}]
links: [{between: [a, b], bandwidth: 1 GBps, latency: 0}]
)");
  }
  [[nodiscard]] Json compare(const std::string& schedules, std::vector<std::string> more) const {
    more.insert(more.end(), {"--planners", "uniform", "--set", "uniform.replicas=1", "--microbatches", "8",
                             "--schedules", schedules, "--json", "--no-timings"});
    const Ran ran = on("compare", more);
    CHECK(ran.code == 0);
    return Json::parse(ran.out)["models"][0];
  }
  /// The throughput of a plan that is simulated with a rule.
  [[nodiscard]] double simulated(const std::string& file, const std::string& rule,
                                 std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"simulate", file, "--sends", rule, "--json", "--no-timings"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run(arguments);
    CHECK(ran.code == 0);
    return Json::parse(ran.out)["throughput_samples_per_s"];
  }
};

std::vector<std::string> schedules_of(const Json& model) {
  std::vector<std::string> names;
  for (const Json& row : model["rows"]) names.push_back(row["schedule"]);
  return names;
}

}  // namespace

TEST_CASE("compare --sends: rows are those of simulate with the same rule, and ranked by it") {
  const Slow toy;
  for (const std::string rule : {"eager", "rendezvous", "explicit", "stream", "blocking"}) {
    CAPTURE(rule);
    const Json model =
        toy.compare("gpipe,zb-h1,interleaved-1f1b,group=4", {"--sends", rule, "--save", toy.file("plans")});
    CHECK(model["sends"] == rule);
    CHECK(model["rows"].size() == 3);
    double above = 1e9;
    for (const Json& row : model["rows"]) {
      const double throughput = row["simulation"]["throughput_samples_per_s"];
      CHECK(throughput == toy.simulated(row["file"], rule, {"--model", toy.model, "--platform", toy.platform}));
      CHECK(throughput <= above);
      above = throughput;
    }
  }
}

TEST_CASE("compare --sends: a stream turns the ranking") {
  const Slow toy;
  const std::string schedules = "zb-h1,interleaved-1f1b,group=4";
  const std::vector<std::string> eager{"interleaved-1f1b,group=4", "zb-h1"};
  CHECK(schedules_of(toy.compare(schedules, {})) == eager);
  CHECK(schedules_of(toy.compare(schedules, {"--sends", "eager"})) == eager);
  CHECK(schedules_of(toy.compare(schedules, {"--sends", "stream"})) ==
        std::vector<std::string>{"zb-h1", "interleaved-1f1b,group=4"});
}

TEST_CASE("compare --sends: a row whose schedule has no such orders says so, and the others stand") {
  const Slow toy;
  const Json model = toy.compare("1f1b,pipedream,spp-pe", {"--sends", "stream"});
  CHECK(schedules_of(model) == std::vector<std::string>{"1f1b", "pipedream", "spp-pe"});
  CHECK(model["rows"][0]["outcome"] == "planned");
  CHECK(model["rows"][1]["outcome"] == "refused");
  CHECK(model["rows"][1]["reason"] ==
        "--sends: applies to the orders of an iteration, but the schedule 'pipedream' has no iterations");
  CHECK(model["rows"][2]["reason"] ==
        "the schedule cannot run with --sends stream: stream transfers are not possible with orders of channels");
}

TEST_CASE("compare --sends: the heading names the rule, and plans keep what planners say of them") {
  const Slow toy;
  const Ran ran = toy.on("compare", {"--planners", "uniform,gpipe", "--sends", "stream", "--no-timings"});
  CHECK(ran.code == 0);
  CHECK(ran.out.substr(0, ran.out.find('\n')).ends_with(", sends stream"));
  const Json plain = toy.compare("gpipe", {});
  const Json ruled = toy.compare("gpipe", {"--sends", "stream"});
  CHECK_FALSE(plain.contains("sends"));
  CHECK(ruled["rows"][0]["evaluated"] == plain["rows"][0]["evaluated"]);
  CHECK(ruled["rows"][0]["simulation"]["throughput_samples_per_s"] <
        plain["rows"][0]["simulation"]["throughput_samples_per_s"]);
}

TEST_CASE("compare --sends --vary: plans run with the rule on varied inputs too") {
  const Slow toy;
  const Json model = toy.compare("gpipe,zb-h1", {"--sends", "blocking", "--vary", "--save", toy.file("plans")});
  for (const Json& ranking : model["sensitivity"]["variations"]) {
    if (ranking["variation"] != "bandwidth x 2") continue;
    for (const Json& plan : ranking["plans"]) {
      const std::string schedule = plan["planner"] == "uniform with gpipe" ? "gpipe" : "zb-h1";
      CHECK(plan["throughput_samples_per_s"] ==
            toy.simulated(
                toy.file("plans/uniform-with-" + schedule + ".yaml"), "blocking",
                {"--model", toy.model, "--platform", toy.platform, "--set", "platform.links[0].bandwidth=2 GBps"}));
    }
    return;
  }
  FAIL("the comparison has the variation 'bandwidth x 2'");
}

}  // namespace stagecraft::compare_sends_test
