// The verbs that plan, judge, simulate and compare, run as a user runs them.
#include "sim/base/text.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <iterator>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_CASE("simulate: figures of a run that can be computed by hand") {
  const Toy toy;
  for (const char* engine : {"evaluate", "replay"}) {
    CAPTURE(engine);
    const Ran ran = toy.on("simulate", {"--engine", engine, "--json", "--no-timings"});
    REQUIRE(ran.code == 0);
    CHECK(ran.err.empty());
    const Json json = Json::parse(ran.out);
    // 8 forwards and 8 backwards of 30 ms, once more for the other stage, and a transfer of 1 ms each way.
    const double expected = 9 * 0.030 + 2 * 0.001;
    CHECK(json["outcome"] == "ok");
    CHECK(json["engine"] == engine);
    CHECK(json["iteration_time_s"].get<double>() == doctest::Approx(expected).epsilon(1e-9));
    CHECK(json["throughput_samples_per_s"].get<double>() == doctest::Approx(32 / expected).epsilon(1e-9));
    CHECK(json["bubble_ratio"].get<double>() == doctest::Approx(1 - 0.24 / expected).epsilon(1e-9));
    CHECK(json["prediction_error"].get<double>() == doctest::Approx((0.27 - expected) / expected).epsilon(1e-9));
    CHECK(json["period_s"].is_null());
    // 1 weight, 1 gradient, 2 optimizer copies; 8 stashes; two buffers for the one cut.
    CHECK(json["devices"][0]["peak_memory_bytes"] == 4'000'000 + 8'000'000 + 2'000'000);
    CHECK(json["devices"][0]["in_flight_peak"] == 8);
    CHECK(json["evaluated"]["iteration_time_s"].get<double>() == doctest::Approx(expected).epsilon(1e-9));
  }
}

TEST_CASE("simulate, check: a prediction that the schedule has no figure for is told") {
  const Toy toy;
  const std::string told =
      "warning: the plan claims a period, which is compared with nothing, because a run of the "
      "schedule 'gpipe' has an iteration time";
  CHECK(toy.on("check").err.empty());
  std::string text = read(toy.plan);
  text.replace(text.find("iteration_time"), std::string("iteration_time").size(), "period");
  write(toy.plan, text);
  CHECK(toy.on("simulate").err.find(told) != std::string::npos);
  CHECK(toy.on("check").err.find(told) != std::string::npos);
  CHECK(Json::parse(toy.on("simulate", {"--json"}).out)["prediction_error"].is_null());
}

TEST_CASE("simulate --timeline-window: the answer has the operations of that part of the run") {
  const Toy toy;
  const Json json = Json::parse(toy.on("simulate", {"--timeline-window", "5 ms..12 ms", "--json"}).out);
  // The first forward ends at 10 ms, its tensor arrives at 11 ms; the second forward of each stage has begun by 12 ms.
  std::string kinds;
  for (const Json& entry : json["timeline"]) kinds += entry["op"].get<std::string>() + " ";
  CHECK(kinds == "forward activation forward forward ");
}

TEST_CASE("simulate: the document has every key that docs/reference/report.md lists") {
  const Json json = Json::parse(Toy().on("simulate", {"--json"}).out);
  for (const char* key : {"outcome",
                          "engine",
                          "network",
                          "schedule",
                          "iteration_time_s",
                          "iterations_s",
                          "load_s",
                          "period_s",
                          "least_period_s",
                          "converged",
                          "drift",
                          "run_length",
                          "samples_per_update",
                          "staleness",
                          "throughput_samples_per_s",
                          "bubble_ratio",
                          "span_bubble_ratio",
                          "ideal_bubble_ratio",
                          "recompute_time_s",
                          "exposed_communication_s",
                          "devices",
                          "links",
                          "bottleneck",
                          "predicted",
                          "evaluated",
                          "prediction_error",
                          "simulated_ops",
                          "wall_time_s"}) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  for (const char* key : {"name", "stages", "busy_s", "load_s", "bubble_ratio", "time", "peak_memory_bytes",
                          "memory_bytes", "peak_at_s", "in_flight_peak", "peak_breakdown"}) {
    CAPTURE(key);
    CHECK(json["devices"][0].contains(key));
  }
  for (const char* key :
       {"compute", "recompute", "exposed_communication", "all_reduce", "all_reduce_wait", "update", "idle"}) {
    CHECK(json["devices"][0]["time"].contains(key));
  }
  for (const char* key : {"weights", "gradients", "optimizer", "stash", "buffers", "workspace"}) {
    CHECK(json["devices"][0]["peak_breakdown"].contains(key));
  }
}

TEST_CASE("simulate: memory that does not fit is a clear no, and the report is still there") {
  const Toy toy;
  toy.write_plan("100");  // 100 MB of stash beside 6 MB of the rest
  const Ran ran = toy.on("simulate", {"--json"});
  CHECK(ran.code == 3);
  const Json json = Json::parse(ran.out);
  CHECK(json["outcome"] == "out_of_memory");
  CHECK(json["overflows"][0]["name"] == "a");
  CHECK(json["overflows"][0]["excess_bytes"] == 6'000'000);
  CHECK(json["devices"].size() == 2);
  // 106 MB would do, and so would 3 of 4 samples; GPipe takes no cap, and a checkpoint is as large as a stash here.
  const Json& changes = json["would_fit"];
  CHECK(changes["memory_bytes"] == 106'000'000);
  CHECK(changes["microbatch_size"] == 3);
  CHECK(changes["in_flight"].empty());
  CHECK(changes["recompute"].empty());
  REQUIRE(changes["fastest_first"].size() == 2);
  for (const auto& tried : changes["fastest_first"]) CHECK(tried["throughput_samples_per_s"].get<double>() > 0);
  const std::string text = toy.on("simulate").out;
  CHECK(text.find("out of memory: a .. b lack 5.72 MiB each, first after ") != std::string::npos);
  CHECK(text.find("at its peak a holds 101 MiB of 95.4 MiB:\n    stash 95.4 MiB, ") != std::string::npos);
  const Ran check = toy.on("check", {"--json"});
  CHECK(check.code == 3);
  CHECK(Json::parse(check.out)["violations"][0]["rule"] == "memory");
}

TEST_CASE("simulate: what the bottleneck is, what links carry, and what balance could gain") {
  const Toy toy;
  const Json json = Json::parse(toy.on("simulate", {"--json"}).out);
  CHECK(json["bottleneck"]["name"] == "stage 0");
  CHECK(json["all_busy_time_s"].get<double>() == doctest::Approx(0.24).epsilon(1e-9));  // 8 x 30 ms on either device
  CHECK(json["links"][0]["carries"] == Json::parse(R"([{"what": "activations 0 -> 1", "share": 1.0}])"));
  const std::string text = toy.on("simulate").out;
  CHECK(text.find("bottleneck: stage 0 on a ") != std::string::npos);
  CHECK(text.find("if no device were ever idle: 240 ms\n") != std::string::npos);
  double sum = 0.0;
  for (const Json& share : json["bottleneck"]["shares"]) sum += share.get<double>();
  CHECK(sum == doctest::Approx(1.0));
  CHECK(json["bottleneck"]["share"] == json["bottleneck"]["shares"]["stage"]);
}

TEST_CASE("plan: an infeasible answer says how much memory and which microbatch size would do") {
  const Toy toy;
  const std::vector<std::string> gpipe = {"--planner", "uniform",    "--schedule", "gpipe",
                                          "--set",     "replicas=1", "--memory",   "keep"};
  const auto plan = [&](std::vector<std::string> more) {
    more.insert(more.end(), gpipe.begin(), gpipe.end());
    return toy.on("plan", more);
  };
  // As many stashes of 1 MB as microbatches, beside 6 MB; with 3 of 4 samples 100 · 0.75 + 5.5 MB.
  const Ran ran = plan({"--microbatches", "100"});
  CHECK(ran.code == 3);
  CHECK(ran.out.find("no plan: device 'a' would need 101 MiB and has 95.4 MiB; in stage 0; 5.72 MiB too much") == 0);
  CHECK(ran.out.find("would fit with at least 102 MiB on every device, or microbatches of 3 instead of 4 samples\n") !=
        std::string::npos);
  const Json json = Json::parse(plan({"--microbatches", "100", "--json"}).out);
  CHECK(json["smallest_memory_bytes"] == 106'000'000);
  CHECK(json["largest_microbatch_size"] == 3);
  // Of 400 samples in all, smaller microbatches are more microbatches: the stashes stay 100 MB.
  CHECK(plan({"--global-batch", "400"}).out.find("on every device; no smaller microbatch size fits\n") !=
        std::string::npos);
}

TEST_CASE("simulate: several iterations are all listed, and the last one counts") {
  const Json json = Json::parse(Toy().on("simulate", {"--iterations", "3", "--json"}).out);
  REQUIRE(json["iterations_s"].size() == 3);
  CHECK(json["iterations_s"][2] == json["iteration_time_s"]);
}

TEST_CASE("check: a fine plan is fine, a broken one has all its violations listed, and simulate refuses it") {
  const Toy toy;
  CHECK(toy.on("check").code == 0);
  CHECK(Json::parse(toy.on("check", {"--json"}).out)["outcome"] == "ok");
  write(toy.plan, R"(schema: stagecraft/plan/1
microbatch_size: 4
microbatches: 8
schedule: {name: 1f2b}
stages:
  - {layers: [first, frist], devices: [a, a]}
  - {layers: [first], devices: [c]}
)");
  const Ran check = toy.on("check", {"--json"});
  CHECK(check.code == 3);
  const Json violations = Json::parse(check.out)["violations"];
  std::vector<std::string> messages;
  for (const Json& violation : violations) messages.push_back(violation["message"]);
  const auto is_said = [&](const std::string& part) {
    return std::ranges::any_of(messages, [&](const std::string& text) { return text.find(part) != std::string::npos; });
  };
  CHECK(is_said("no layer 'frist' (did you mean 'first'?"));
  CHECK(is_said("no device 'c'"));
  CHECK(is_said("unknown schedule '1f2b' (did you mean '1f1b'?"));
  CHECK(is_said("'second'"));  // in no stage
  CHECK(violations.size() >= 6);
  const Ran simulate = toy.on("simulate", {"--json"});
  CHECK(simulate.code == 2);
  const Json error = Json::parse(simulate.out)["error"];
  CHECK(error["file"] == toy.plan);
  CHECK(error["message"].get<std::string>().find("and " + std::to_string(violations.size() - 1) + " more") !=
        std::string::npos);
}

TEST_CASE("check: literal orders are judged in the place of the plan's schedule") {
  const Toy toy;
  toy.write_plan("2");
  const auto with = [&](const std::string& devices) {
    const std::string file = toy.file("orders.yaml");
    write(file, "schema: stagecraft/schedule/1\ndevices: " + devices + "\n");
    return toy.on("check", {"--schedule-file", file, "--json"});
  };
  CHECK(with("{a: [F0.0..1, B0.0..1], b: [F1.0..1, B1.0..1]}").code == 0);
  const Ran lacking = with("{a: [F0.0..1, B0.0], b: [F1.0..1, B1.0..1]}");
  CHECK(lacking.code == 3);
  CHECK(Json::parse(lacking.out)["violations"][0]["rule"] == "schedule");
}

TEST_CASE("plan: what it writes can be checked and simulated, and another input is warned of") {
  const Toy toy;
  const Ran plan =
      toy.on("plan", {"--planner", "uniform", "--set", "replicas=1", "-o", toy.plan, "--json", "--no-timings"});
  REQUIRE(plan.code == 0);
  const Json json = Json::parse(plan.out);
  CHECK(json["outcome"] == "planned");
  CHECK(json["plan"]["microbatches"] == 8);  // 4 for each device
  CHECK(json["stages"][0]["actions"] == "k");
  CHECK_FALSE(json.contains("planning_time_s"));
  CHECK(toy.on("check").code == 0);
  const Ran simulated = toy.on("simulate", {"--json"});
  CHECK(simulated.code == 0);
  CHECK(simulated.err.empty());
  CHECK(Json::parse(simulated.out)["evaluated"] == json["evaluated"]);
  write(toy.model, read(toy.model) + "# changed\n");
  CHECK(toy.on("simulate").err ==
        "stagecraft: warning: the plan was made for another model file (its SHA-256 differs; if it was made with "
        "--set model.PATH, give the same here)\n");
}

TEST_CASE("simulate: a claim of a period is not shown as one of an iteration") {
  const Toy toy;
  std::string plan = read(toy.plan);
  plan.replace(plan.find("iteration_time"), std::string("iteration_time").size(), "period");
  write(toy.plan, plan);
  const std::string text = toy.on("simulate").out;
  const std::string told = "the planner's claim";
  const std::size_t at = text.find(told);
  REQUIRE(at != std::string::npos);
  const std::string claim = text.substr(at + told.size(), text.find('\n', at) - at - told.size());
  CHECK(claim.find_first_not_of(" -") == std::string::npos);
  CHECK(text.find("error of the claim") == std::string::npos);
}

TEST_CASE("plan: writes JSON on demand, and nothing when there is no plan or an error") {
  const Toy toy;
  const std::string output = toy.file("out.json");
  REQUIRE(toy.on("plan", {"--planner", "uniform", "-o", output}).code == 0);
  CHECK(Json::parse(read(output))["schema"] == "stagecraft/plan/1");
  fs::remove(output);
  const Ran none = toy.on("plan", {"--planner", "uniform", "--microbatch-size", "4000", "-o", output});
  CHECK(none.code == 3);
  CHECK(none.err.find("out.json is not written, because there is no plan") != std::string::npos);
  CHECK(toy.on("plan", {"--planner", "uniform", "--set", "stages=9", "-o", output}).code == 2);
  CHECK_FALSE(fs::exists(output));
  CHECK(toy.on("plan", {"--planner", "uniform", "-o", toy.file("none/out.yaml")}).code == 2);
  CHECK(std::distance(fs::directory_iterator(toy.path), {}) == 3);  // no leavings
}

TEST_CASE("plan: the global batch is divided into microbatches") {
  const Toy toy;
  const auto microbatches = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"--planner", "uniform", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Json::parse(toy.on("plan", arguments).out)["plan"]["microbatches"].get<int>();
  };
  CHECK(microbatches({"--global-batch", "24"}) == 6);
  CHECK(microbatches({"--global-batch", "24", "--microbatch-size", "2"}) == 12);
  CHECK(toy.on("plan", {"--planner", "uniform", "--global-batch", "26"}).code == 2);
  CHECK(toy.on("plan", {"--planner", "uniform", "--global-batch", "24", "--microbatches", "6"}).code == 2);
}

TEST_CASE("compare: one row for each planner, whatever became of it") {
  const Toy toy;
  const Ran ran = toy.on("compare", {"--planners", "uniform,data-parallel", "--json", "--no-timings"});
  REQUIRE(ran.code == 0);
  const Json rows = Json::parse(ran.out)["models"][0]["rows"];
  REQUIRE(rows.size() == 2);
  CHECK(rows[0]["simulation"]["outcome"] == "ok");
  CHECK(rows[1]["planner"] == "data-parallel");
  const Ran none = toy.on("compare", {"--planners", "uniform", "--microbatch-size", "4000"});
  CHECK(none.code == 3);
  CHECK(none.out.find("uniform: device 'a' would need ") != std::string::npos);
}

TEST_CASE("compare: two models give two tables, and the footnote names what is asynchronous") {
  const Toy toy;
  const Ran ran = toy.on("compare", {"--model", toy.model, "--planners", "uniform,pipedream", "--no-timings"});
  REQUIRE(ran.code == 0);
  CHECK(ran.out.find("toy on pair") != ran.out.rfind("toy on pair"));
  CHECK(ran.out.find("pipedream *") != std::string::npos);
  CHECK(ran.out.find("\n* no flush between iterations") != std::string::npos);
}

TEST_CASE("commands: the same command gives the same bytes") {
  const Toy toy;
  const std::vector<std::string> more{"--planners", "uniform,data-parallel,pipedream", "--json", "--no-timings"};
  CHECK(toy.on("compare", more).out == toy.on("compare", more).out);
}

TEST_CASE("commands: what makes no sense is refused, each with its own message") {
  const Toy toy;
  const std::vector<std::pair<std::vector<std::string>, std::string>> refusals = {
      {{"--microbatches", "99999999999999999999"}, "--microbatches: expected a whole number from 1 to 1000000000"},
      {{"--microbatches", "-5"}, "found '-5'"},
      {{"--microbatches", ""}, "found ''"},
      {{"--microbatches", "0x10"}, "found '0x10'"},
      {{"--microbatches", "1000000000"}, "more than 10^9 computations"},
      {{"--microbatches", "6000000", "--schedule", "gpipe", "--training", "boundary_buffers=0"}, ""},
      {{"--microbatch-size", "1000000000000"}, "--microbatch-size: expected"},
      {{"--microbatch-size", "1000000000"}, ""},
      {{"--global-batch", "0"}, "--global-batch: expected"},
      {{"--schedule", "1f1"}, "did you mean '1f1b'?"},
      {{"--schedule", "literal"}, "literal"},
      {{"--training", "gradient_copies"}, "expected NAME=VALUE"},
      {{"--training", "gradient_copy=1"}, "did you mean 'gradient_copies'?"},
      {{"--training", "gradient_copies=1,gradient_copies=2"}, "given twice"},
      {{"--training", "input_gradient_release=1.5"}, "a number from 0 to 1"},
      {{"--training", "stash=inputs"}, "did you mean 'input'?"},
      {{"--training", ""}, "separated by commas"},
      {{"--set", "stagse=2"}, "did you mean 'stages'?"},
      {{"--set", "stages=two"}, "stages"},
      {{"--speed", "B=1"}, "the kind 'B'"},
      {{"--speed", "A=0"}, "from 1e-6 to 1e6"},
      {{"--speed", "A=1", "--speed", "A=2"}, "given twice"},
      {{"--model", "x"}, "--model takes one value"},
      {{"--planer", "x"}, "did you mean '--planner'?"},
      {{"-o", ""}, "expected the name of a file"},
      {{"-o", "/"}, "is a directory"},
  };
  for (const auto& [more, message] : refusals) {
    CAPTURE(more.front());
    CAPTURE(more.back());
    std::vector<std::string> arguments{"--planner", "uniform"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = toy.on("plan", arguments);
    CHECK(ran.code != 0);
    CHECK(ran.code != 1);
    CHECK((ran.err + ran.out).find(message) != std::string::npos);
    arguments.emplace_back("--json");
    CHECK(Json::accept(toy.on("plan", arguments).out));
  }
}

TEST_CASE("commands: files that are not what they should be are refused with their place") {
  const Toy toy;
  CHECK(run({"simulate", toy.file("none.yaml"), "--model", toy.model, "--platform", toy.platform}).code == 2);
  const Json error =
      Json::parse(run({"check", toy.model, "--model", toy.model, "--platform", toy.platform, "--json"}).out)["error"];
  CHECK(error["file"] == toy.model);
  CHECK(error["line"] == 1);
  CHECK(error["column"] == 9);
  const Ran folder = run({"check", toy.plan, "--model", toy.path.string(), "--platform", toy.platform});
  CHECK(folder.code == 2);
  CHECK(folder.err.find("found a directory") != std::string::npos);
  const Ran name = run({"check", toy.plan, "--model", "vgg61", "--platform", toy.platform});
  CHECK(name.err.find("did you mean 'vgg16'?") != std::string::npos);
  const Ran platform = run({"check", toy.plan, "--model", toy.model, "--platform", "dgx-a10"});
  CHECK(platform.err.find("did you mean 'dgx-a100'?") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft
