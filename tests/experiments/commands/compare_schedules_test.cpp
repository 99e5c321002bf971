// `compare --schedules`: every planner is asked for every schedule.
#include "experiments/run/option_text.hpp"
#include "sim/base/error.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "tests/experiments/commands/toy.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::compare_schedules_test {
namespace {

using Json = nlohmann::json;

Ran compare(const Toy& toy, const std::string& planners, const std::string& schedules,
            std::vector<std::string> more = {}) {
  more.insert(more.end(), {"--planners", planners, "--schedules", schedules, "--no-timings"});
  return toy.on("compare", more);
}

Json model_of(const Ran& ran) { return Json::parse(ran.out)["models"][0]; }

/// The row of that planner for that schedule alone. Another planner is beside it, since a refusal of all is an error.
Json row_alone(const Toy& toy, const Json& row) {
  const std::string planner = row["planner"];
  const std::string planners = planner == "gpipe" ? "gpipe,uniform" : planner + ",gpipe";
  const Ran ran = toy.on("compare", {"--planners", planners, "--schedule", row["schedule"], "--json", "--no-timings"});
  const Json alone = model_of(ran);
  for (const Json& each : alone["rows"]) {
    if (each["planner"] == planner) return each;
  }
  return {};
}

std::vector<std::string> read_texts(const std::string& list) {
  std::vector<std::string> texts;
  for (const ScheduleChoice& each : read_schedules_option("--schedules", list)) texts.push_back(schedule_text(each));
  return texts;
}

}  // namespace

TEST_CASE("compare --schedules: every planner has a row with every schedule, the same as with that schedule alone") {
  const Toy toy;
  const Ran ran = compare(toy, "gpipe,uniform,dapple", "gpipe,interleaved-1f1b,1f1b", {"--json"});
  CHECK(ran.code == 0);
  const Json model = model_of(ran);
  std::set<std::pair<std::string, std::string>> asked;
  std::vector<double> throughputs;
  std::size_t refused = 0;
  for (Json row : model["rows"]) {
    asked.emplace(row["planner"], row["schedule"]);
    CAPTURE(row["planner"]);
    CAPTURE(row["schedule"]);
    const Json alone = row_alone(toy, row);
    if (row["outcome"] == "refused") ++refused;
    if (row.contains("simulation")) throughputs.push_back(row["simulation"]["throughput_samples_per_s"]);
    row.erase("schedule");
    CHECK(row == alone);
  }
  CHECK(asked.size() == 9);
  CHECK(refused == 1);
  CHECK(model["rows"].back()["planner"] == "dapple");
  CHECK(model["rows"].back()["schedule"] == "interleaved-1f1b");
  CHECK(std::ranges::is_sorted(throughputs, std::ranges::greater()));
  CHECK(throughputs.size() == 8);
  CHECK(model["best"] == model["rows"][0]["planner"]);
  CHECK(model["best_schedule"] == model["rows"][0]["schedule"]);
}

TEST_CASE("compare --schedules: the schedule is beside the planner, and refusals that are alike share a line") {
  const Toy toy;
  const Ran narrow = compare(toy, "uniform,vpipe,dawnpiper", "1f1b,interleaved-1f1b,chunks=2,zb-v");
  CHECK(narrow.code == 0);
  CHECK(narrow.out.find("  planner    schedule ") != std::string::npos);
  CHECK(narrow.out.find("uniform    interleaved-1f1b,chunks=2  ") != std::string::npos);
  CHECK(narrow.out.find("vpipe      zb-v  ") != std::string::npos);
  CHECK(narrow.out.find("\nvpipe, dawnpiper with zb-v: puts one stage on a device") != std::string::npos);
  const Ran wide = compare(toy, "uniform", "1f1b,zb-v", {"--wide"});
  CHECK(wide.out.find(" schedule ") == wide.out.rfind(" schedule "));
}

TEST_CASE("compare --schedules: where all rows are refused, the error names planners and schedules") {
  const Toy toy;
  const Ran ran = compare(toy, "dapple,vpipe", "zb-v,zb-h1");
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(ran.err.find("every planner refuses this request: ") != std::string::npos);
  CHECK(ran.err.find("vpipe with zb-v: puts one stage") != std::string::npos);
  CHECK(ran.err.find("dapple, vpipe with zb-h1: has no formula") != std::string::npos);
}

TEST_CASE("compare --schedules --save: each row has a file of its own") {
  const Toy toy;
  const std::string folder = toy.file("plans");
  const Ran ran = compare(toy, "uniform", "1f1b,interleaved-1f1b,chunks=2", {"--save", folder});
  CHECK(ran.code == 0);
  CHECK(read(folder + "/uniform-with-1f1b.yaml").find("{name: \"1f1b\"}") != std::string::npos);
  CHECK(read(folder + "/uniform-with-interleaved-1f1b-chunks-2.yaml").find("interleaved-1f1b") != std::string::npos);
}

TEST_CASE("compare --schedules --vary: one planner competes with itself") {
  const Toy toy;
  const Json json = model_of(compare(toy, "gpipe", "gpipe,1f1b", {"--vary", "--json"}))["sensitivity"];
  std::set<std::string> names;
  for (const Json& plan : json["given"]["plans"]) names.insert(plan["planner"]);
  CHECK(names == std::set<std::string>{"gpipe with gpipe", "gpipe with 1f1b"});
}

TEST_CASE("compare --schedules: an item without = begins a schedule") {
  using Texts = std::vector<std::string>;
  CHECK(read_texts("1f1b") == Texts{"1f1b"});
  CHECK(read_texts("interleaved-1f1b,chunks=2,group=4,interleaved-1f1b,chunks=4,gpipe") ==
        Texts{"interleaved-1f1b,chunks=2,group=4", "interleaved-1f1b,chunks=4", "gpipe"});
  CHECK(read_texts("zb-v,chunks") == Texts{"zb-v", "chunks"});  // the second one is an unknown schedule
  for (const char* list : {"", ",1f1b", "1f1b,", "chunks=4,1f1b", "1f1b,1f1b", "1f1b,=4"}) {
    CAPTURE(list);
    CHECK_THROWS_AS(read_texts(list), InputError);
  }
}

}  // namespace stagecraft::compare_schedules_test
