// `--tensor`: every planner plans for groups, and what it claims is what the plan does on the real devices.
#include "planners/registry.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

Words plan_words(const std::string& planner, const Words& more = {}) {
  Words words{"plan",           "--model", "gpt2-medium", "--platform", "dgx-a100", "--planner",   planner,
              "--microbatches", "8",       "--sequence",  "128",        "--json",   "--no-timings"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

double headline(const Json& of) {
  const Json& time =
      of.contains("iteration_time_s") && !of["iteration_time_s"].is_null() ? of["iteration_time_s"] : of["period_s"];
  return time.get<double>();
}

}  // namespace

TEST_CASE("--tensor: the plan of every planner is one for groups, and runs as it was evaluated") {
  const Folder folder;
  for (const PlannerInfo* planner : all_planners()) {
    CAPTURE(planner->name);
    const std::string file = folder.file(planner->name + ".yaml");
    const Ran planned = run(plan_words(planner->name, {"--tensor", "2", "-o", file}));
    CAPTURE(planned.err);
    REQUIRE(planned.code == 0);
    const Json plan = Json::parse(planned.out);
    CHECK(headline(plan["evaluated"]) == doctest::Approx(headline(plan["predicted"])).epsilon(0.1));
    CHECK(read(file).find("groups: {tensor: 2, sequence: true}") != std::string::npos);
    CHECK(run({"check", file}).code == 0);
    const Ran evaluated = run({"simulate", file, "--engine", "evaluate", "--json", "--no-timings"});
    REQUIRE(evaluated.code == 0);
    const Json report = Json::parse(evaluated.out);
    CHECK(headline(report) == doctest::Approx(headline(plan["evaluated"])).epsilon(1e-9));
    const Ran replayed = run({"simulate", file, "--json", "--no-timings"});
    REQUIRE(replayed.code == 0);
    CHECK(headline(Json::parse(replayed.out)) == doctest::Approx(headline(report)).epsilon(0.05));
    for (const Json& device : report["devices"]) CHECK(device["time"]["exchange"].get<double>() > 0.0);
  }
}

TEST_CASE("--tensor: a group that lacks memory has the name of its first device") {
  Words words = plan_words("gpipe", {"--tensor", "2", "--set", "stages=4", "--memory", "keep"});
  words.insert(words.end(), {"--microbatch-size", "16"});
  words.insert(words.end(), {"--set", "platform.device_kinds.A100-SXM4-40GB.memory=1000 MiB"});
  const Ran ran = run(words);
  REQUIRE(ran.code == 3);
  const Json answer = Json::parse(ran.out);
  const std::string device = answer["device"];
  CHECK((device.back() - '0') % 2 == 0);
  CHECK(answer["reason"].get<std::string>().find("device '" + device + "' would need") == 0);
}

TEST_CASE("--tensor: groups of one are no groups") {
  const Ran plain = run(plan_words("uniform"));
  CHECK(run(plan_words("uniform", {"--tensor", "1", "--sequence-parallel", "false"})).out == plain.out);
}

TEST_CASE("--tensor auto: the fastest of all numbers that divide a node") {
  const auto samples_per_second = [](const std::string& tensor) {
    const Ran ran = run(plan_words("uniform", {"--tensor", tensor}));
    REQUIRE(ran.code == 0);
    return Json::parse(ran.out)["throughput_samples_per_s"].get<double>();
  };
  double best = 0.0;
  for (const char* tensor : {"1", "2", "4", "8"}) best = std::max(best, samples_per_second(tensor));
  CHECK(samples_per_second("auto") == best);
  const Ran ran = run(plan_words("uniform", {"--tensor", "auto"}));
  CHECK(ran.err.find("tried: 1 (") != std::string::npos);
}

TEST_CASE("--tensor: what cannot be divided is refused") {
  const auto refused = [](const Words& words) {
    const Ran ran = run(words);
    CHECK(ran.code == 2);
    return ran.err + ran.out;
  };
  CHECK(refused(plan_words("uniform", {"--tensor", "3"})).find("is not a multiple of 3") != std::string::npos);
  CHECK(refused(plan_words("uniform", {"--tensor", "0"})).find("--tensor") != std::string::npos);
  CHECK(refused(plan_words("uniform", {"--tensor", "two"})).find("--tensor") != std::string::npos);
  CHECK(refused({"plan", "--model", "vgg16", "--platform", "dgx-a100", "--planner", "uniform", "--tp", "2"})
            .find("cannot be divided into a tensor group") != std::string::npos);
  CHECK(refused({"max-batch", "--model", "gpt2-medium", "--platform", "dgx-a100", "--planner", "uniform", "--tensor",
                 "auto"})
            .find("--tensor") != std::string::npos);
}

TEST_CASE("--tensor: without sequence parallelism the members keep more") {
  const auto peak = [](const std::string& sequence) {
    const Ran ran = run(plan_words("uniform", {"--tensor", "4", "--sequence-parallel", sequence, "--set", "stages=2"}));
    REQUIRE(ran.code == 0);
    return Json::parse(ran.out)["evaluated"]["peak_memory_bytes"]["gpu0"].get<double>();
  };
  CHECK(peak("false") > peak("true"));
}

TEST_CASE("groups: what a run of them cannot do is refused") {
  const Folder folder;
  const std::string file = folder.file("plan.yaml");
  REQUIRE(run(plan_words("uniform", {"--tensor", "2", "-o", file})).code == 0);
  CHECK(run({"simulate", file, "--network", "analytic"}).code == 2);
  CHECK(run({"simulate", file, "--replan", "uniform"}).code == 2);
  const std::string slow = folder.file("slow.yaml");
  write(slow,
        "schema: stagecraft/events/1\nevents:\n"
        "  - {at: 0 s, device: gpu1, slowdown: 2}\n");
  const Ran calm = run({"simulate", file, "--json", "--no-timings"});
  const Ran slowed = run({"simulate", file, "--events", slow, "--json", "--no-timings"});
  REQUIRE(slowed.code == 0);
  CHECK(headline(Json::parse(slowed.out)) > headline(Json::parse(calm.out)));  // the slowest member decides
}

}  // namespace stagecraft
