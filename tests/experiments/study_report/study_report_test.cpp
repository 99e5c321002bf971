// A study's report: its words, its data, and the verb that prints them.
#include "experiments/study_report/study_report.hpp"

#include "experiments/study/shard.hpp"
#include "experiments/study_report/csv_text.hpp"
#include "experiments/study_report/planning_times.hpp"
#include "experiments/study_report/study_picture.hpp"
#include "sim/io/json.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/experiments/study/study_results.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace stagecraft::study_report_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Detail::Record figures(double throughput, double iteration_time_s) {
  return {{"iteration_time_s", iteration_time_s},
          {"throughput_samples_per_s", throughput},
          {"bubble_ratio", 0.25},
          {"peak_memory_bytes", std::int64_t{3} << 30},
          {"prediction_error", -0.05},
          {"over_bound", 1.25},
          {"configuration", "2-1"},
          {"resolved_schedule", "1f1b"}};
}

/// Two sizes, two planners of which one cannot always plan, one cell that crashed and one that has not run.
StudyMaker example() {
  StudyMaker maker("two, \"sizes\"");
  maker.results.manifest.baseline = Keys{{"planner", "uniform"}};
  const auto keys = [](const std::string& planner, int size) {
    return Keys{{"model", "toy"}, {"planner", planner}, {"microbatch_size", size}};
  };
  Detail::Record asynchronous = figures(1234.5, 0.0);
  asynchronous[0] = {"period_s", 0.002};
  maker.cell(keys("uniform", 4)).row(CellStatus::Ok, figures(800.0, 0.16));
  maker.cell(keys("pipedream", 4)).row(CellStatus::Ok, asynchronous);
  maker.cell(keys("uniform", 8)).row(CellStatus::OutOfMemory, {{"overflow_bytes", 1 << 20}});
  maker.cell(keys("pipedream", 8))
      .row(CellStatus::Infeasible, {{"smallest_memory_bytes", std::int64_t{20} << 30}, {"largest_microbatch_size", 6}},
           "no stage fits");
  maker.cell(keys("uniform", 16)).row(CellStatus::Crashed, {}, "<script>\n");
  maker.cell(keys("pipedream", 16));
  return maker;
}

TEST_CASE("study report: a line that shows the samples/s of the best one says so") {
  StudyMaker maker;
  const auto add = [&](const std::string& planner, CellStatus status, double throughput) {
    maker.cell(Keys{{"planner", planner}}).row(status, figures(throughput, 1.0));
  };
  add("a", CellStatus::Ok, 1000.2);
  add("b", CellStatus::Ok, 1000.1);
  add("c", CellStatus::Ok, 999.0);
  add("d", CellStatus::OutOfMemory, 1000.1);
  const std::string text = to_text(study_document(summarise_study(maker.results)));
  const auto outcome = [&](const std::string& planner) {
    const std::size_t line = text.find("\n" + planner + " ", text.find("All cells"));
    const std::string row = text.substr(line + 1, text.find('\n', line + 1) - line - 1);
    return row.substr(row.rfind("  ") + 2);
  };
  CHECK(outcome("a") == "ok, best");
  CHECK(outcome("b") == "ok, best as printed");
  CHECK(outcome("c") == "ok");
  CHECK(outcome("d") == "out of memory");
}

TEST_CASE("study report: the text, word for word") {
  CHECK(to_text(study_document(summarise_study(example().results))) ==
        R"(Study two, "sizes"
5 of 6 cells: 2 ok, 1 infeasible, 1 out of memory, 1 crashed, 1 not run
In all cells: model toy
Speed-up: ratio of samples/s to the cell of planner uniform.
* asynchronous: no flush between iterations, weights are older; the time is that of one microbatch,)"
        R"( and for other schedules that of one iteration.

Overall, 3 groups
planner    speed-up  lowest  highest  compared  best  ok  infeasible  out of memory  failed  not run
uniform       1.000   1.000    1.000    1 of 3     0   1           0              1       1        0
pipedream     1.543   1.543    1.543    1 of 3     1   1           1              0       0        1

microbatch_size 4
planner    schedule  replicas  samples/s  speed-up    time   claim  bubble  peak memory  outcome
uniform    1f1b      2-1             800     1.000  160 ms  -5.0 %  25.0 %        3 GiB  ok
pipedream  1f1b *    2-1            1234     1.543    2 ms  -5.0 %  25.0 %        3 GiB  ok, best

microbatch_size 8
planner    schedule  replicas  samples/s  speed-up  time  claim  bubble  peak memory  outcome
uniform    -         -                 -         -     -      -       -            -  out of memory (lacks 1 MiB)
pipedream  -         -                 -         -     -      -       -            -  infeasible)"
        R"( (would fit with 20 GiB or microbatches of 6)

microbatch_size 16
planner    schedule  replicas  samples/s  speed-up  time  claim  bubble  peak memory  outcome
uniform    -         -                 -         -     -      -       -            -  crashed
pipedream  -         -                 -         -     -      -       -            -  not run

Claims and regret
planner    claims  mean error  worst error  rank  compared  regret  worst regret  x best
uniform         1      -5.0 %       -5.0 %     -         1   1.543         1.543   1.250
pipedream       1      -5.0 %       -5.0 %     -         1   1.000         1.000   1.250
- error: (claimed − simulated) / simulated time
- rank: Spearman's correlation of both times of a sample, each over the best simulated one of its group
- regret: the group's best samples/s over the planner's
- x best: time over the least possible for the plan's cut (1: no order is faster); geometric mean

Why cells gave no figures
- 1 x infeasible: no stage fits
- 1 x crashed: <script>\n
)");
}

TEST_CASE("study report: one planner has one table, with the columns that the study asks for") {
  StudyMaker maker("one");
  maker.results.manifest.columns = {"details.dp_period_s", "details.fallback", "predicted_peak_memory_bytes",
                                    "details.nodes", "bottleneck"};
  for (const int size : {4, 8, 16}) {
    maker.cell({{"planner", "madpipe"}, {"platform.node_kinds.gpus.memory", size}});
    if (size == 16) {
      maker.row(CellStatus::Infeasible, {}, "too small");
      continue;
    }
    Detail::Record record = figures(50.0, 0.16);
    record.emplace_back("predicted_peak_memory_bytes", std::int64_t{1} << 30);
    record.emplace_back("bottleneck", "stage 2");
    Detail::Record details{
        {"dp_period_s", size == 4 ? Detail(0.014) : Detail()}, {"fallback", size == 8}, {"nodes", 3}};
    record.emplace_back("details", std::move(details));
    maker.row(CellStatus::Ok, std::move(record));
  }
  const StudySummary summary = summarise_study(maker.results);
  const std::string text = to_text(study_document(summary));
  CAPTURE(text);
  CHECK(text.find("\n3 groups\n"
                  "memory  schedule  replicas  dp period  fallback  predicted peak memory  nodes  bottleneck"
                  "  samples/s    time   claim  bubble  peak memory  outcome\n"
                  "4       1f1b      2-1           14 ms        no                  1 GiB      3     stage 2"
                  "         50  160 ms  -5.0 %  25.0 %        3 GiB  ok\n"
                  "8       1f1b      2-1               -       yes                  1 GiB      3     stage 2"
                  "         50  160 ms  -5.0 %  25.0 %        3 GiB  ok\n"
                  "16      -         -                 -         -                      -      -           -"
                  "          -       -       -       -            -  infeasible\n") != std::string::npos);
  const Json record = Json::parse(to_json(study_record(summary), -1));
  CHECK(record["columns"][0] == "details.dp_period_s");
  CHECK(record["groups"][0]["lines"][0]["details.dp_period_s"] == 0.014);
  CHECK(record["groups"][2]["lines"][0]["bottleneck"].is_null());
}

TEST_CASE("study report: seeds show an interval and what became of each") {
  StudyMaker maker;
  maker.results.manifest.baseline = Keys{{"planner", "a"}};
  for (std::uint64_t seed : {1U, 2U}) {
    maker.cell({{"model", "toy"}, {"planner", "a"}}, seed).ok(100.0);
    maker.cell({{"model", "toy"}, {"planner", "b"}}, seed).ok(seed == 1 ? 110.0 : 121.0);
    maker.cell({{"model", "toy"}, {"planner", "c"}}, seed);
    if (seed == 1) maker.ok(50.0);
  }
  const std::string text = to_text(study_document(summarise_study(maker.results)));
  CAPTURE(text);
  // Logarithms ln 1.1 and 2 ln 1.1: mean 1.5 ln 1.1, error 0.5 ln 1.1, t 12.7062.
  const double low = std::pow(1.1, 1.5 - 0.5 * 12.7062);
  CHECK(std::abs(low - 0.630) < 5e-4);
  CHECK(text.find(" 1.154  0.630 to 2.114 ") != std::string::npos);
  CHECK(text.find("95 % interval") != std::string::npos);
  CHECK(text.find("1 ok, 1 not run") != std::string::npos);
  CHECK(text.find("Figures are means over 2 seeds.") != std::string::npos);
  CHECK(text.find("All cells\n") != std::string::npos);
}

TEST_CASE("study report: the data has every figure unrounded") {
  const StudySummary summary = summarise_study(example().results);
  const Json json = Json::parse(to_json(study_record(summary)));
  CHECK(json["cells"] == 6);
  CHECK(json["rows"] == 5);
  CHECK(json["status"]["not_run"] == 1);
  CHECK(json["constant"] == Json{{"model", "toy"}});
  const Json& line = json["groups"][0]["lines"][1];
  CHECK(line["name"] == "pipedream");
  CHECK(line["speed_up"] == 1234.5 / 800.0);
  CHECK(line["speed_up_low"] == nullptr);
  CHECK(line["best"] == true);
  CHECK(line["period_s"] == 0.002);
  CHECK(json["groups"][1]["lines"][1]["smallest_memory_bytes"] == std::int64_t{20} << 30);
  CHECK(json["overall"][1]["groups_won"] == 1);
  CHECK(json["reasons"][1]["message"] == "<script>\n");
  const std::string csv = study_csv(summary);
  // Without the columns that have nothing: label, interval, timeout, invalid, …
  CHECK(csv.starts_with("study,model,microbatch_size,name,planner,choices,cells,ok,infeasible,out_of_memory,crashed,"));
  CHECK(csv.find("\n\"two, \"\"sizes\"\"\",toy,4,pipedream,pipedream,{},1,1,0,0,0,0,") != std::string::npos);
  CHECK(csv.find(",true,1.54313,1,1234.5,,0.002,0.25,-0.05,3221225472,,,,1f1b,2-1\n") != std::string::npos);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 7);
}

TEST_CASE("study report: as CSV the tables of the study, a line for each place") {
  StudyMaker maker = example();
  TableChoice first{.title = "fast, \"faster\"", .rows = {"microbatch_size"}, .columns = {"planner"}};
  first.value = "throughput_samples_per_s";
  TableChoice second{.title = "ends", .rows = {"model"}, .columns = {"planner"}, .value = "outcome"};
  maker.results.manifest.tables = {first, second};
  CHECK(study_csv(summarise_study(maker.results)) ==
        R"(study,table,microbatch_size,planner,model,value,used,cells,ok,infeasible,out_of_memory,crashed,not_run
"two, ""sizes""","fast, ""faster""",4,uniform,,800.0,1,1,1,0,0,0,0
"two, ""sizes""","fast, ""faster""",4,pipedream,,1234.5,1,1,1,0,0,0,0
"two, ""sizes""","fast, ""faster""",8,uniform,,,0,1,0,0,1,0,0
"two, ""sizes""","fast, ""faster""",8,pipedream,,,0,1,0,1,0,0,0
"two, ""sizes""","fast, ""faster""",16,uniform,,,0,1,0,0,0,1,0
"two, ""sizes""","fast, ""faster""",16,pipedream,,,0,1,0,0,0,0,1
"two, ""sizes""",ends,,uniform,toy,,0,3,1,0,1,1,0
"two, ""sizes""",ends,,pipedream,toy,,0,3,1,1,0,0,1
)");
}

TEST_CASE("study report: figures in a CSV file have six significant digits, also inside lists") {
  CHECK(rounded(Detail(1234.56789)) == Detail(1234.57));
  CHECK(rounded(Detail(-2.2e-16)) == Detail(0.0));
  CHECK(rounded(Detail(std::int64_t{123456789})) == Detail(std::int64_t{123456789}));
  CHECK(rounded(Detail(Detail::List{Detail(1.0 / 3.0), Detail("a")})) ==
        Detail(Detail::List{Detail(0.333333), Detail("a")}));
}

TEST_CASE("study report: no cells, no rows, no baseline") {
  StudyMaker maker;
  maker.cell({{"model", "toy"}, {"planner", "a"}});
  const StudySummary summary = summarise_study(maker.results);
  const std::string text = to_text(study_document(summary));
  CHECK(text.find("0 of 1 cell: 1 not run\n") != std::string::npos);
  CHECK(text.find("speed-up") == std::string::npos);
}

/// A folder of results that goes when the test ends.
struct Folder {
  test::TemporaryFolder temporary;
  fs::path path = temporary.path();
  Folder() {
    const Results results = example().results;
    std::ofstream(manifest_path(path.string())) << to_text(results.manifest);
    ShardWriter writer(path.string(), "test");
    for (const CellResult& result : results.rows) writer.append(to_line(result.row));
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

std::string read(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST_CASE("report: prints, writes each form by the end of the name, and tells programs the same") {
  const Folder folder;
  const StudySummary summary = summarise_study(example().results);
  const Document document = study_document(summary);
  const Ran plain = run({"report", folder.path.string()});
  CHECK(plain.code == 0);
  CHECK(plain.out == to_text(document));
  CHECK(run({"report", folder.path.string(), "--json", "--no-timings"}).out == to_json(study_record(summary)) + "\n");
  const Ran written = run({"report", folder.path.string(), folder.path.string(), "-o", folder.file("r.md")});
  CHECK(written.out == folder.file("r.md") + ": the report of 5 of 6 cells\n");
  CHECK(read(folder.file("r.md")) == to_markdown(document));
  CHECK(run({"report", folder.path.string(), "-o", folder.file("r.html")}).code == 0);
  CHECK(read(folder.file("r.html")) == study_page(summary, {}));
  CHECK(run({"report", folder.path.string(), "-o", folder.file("r.txt")}).code == 0);
  CHECK(read(folder.file("r.txt")) == plain.out);
  CHECK(run({"report", folder.path.string(), "-o", folder.file("r.csv"), "--json"}).code == 0);
  CHECK(read(folder.file("r.csv")) == study_csv(summary));
  CHECK(run({"report", folder.path.string(), "-o", folder.file("r.svg")}).code == 0);
  CHECK(read(folder.file("r.svg")) == study_picture(summary));
  for (const char* name : {"r.md", "r.html", "r.txt", "r.csv", "r.svg"}) {  // written again
    CHECK(run({"report", folder.path.string(), "-o", folder.file(name)}).code == 0);
  }
}

TEST_CASE("report --json: how long each planner planned, unless timings are left out") {
  StudyMaker maker = example();
  maker.results.rows[0].row.timings = {{"planning_time_s", 0.5}};
  maker.results.rows[2].row.timings = {{"planning_time_s", 1.5}, {"wall_time_s", 7.0}};
  const Json list = Json::parse(to_json(planning_time_list(planning_times(maker.results)), -1));
  CHECK(list == Json::parse(R"([{"name": "uniform", "cells": 2, "mean_s": 1.0, "longest_s": 1.5},
                                {"name": "pipedream", "cells": 0, "mean_s": null, "longest_s": null}])"));
  const Folder folder;
  CHECK(Json::parse(run({"report", folder.path.string(), "--json"}).out).at("planning_times").size() == 2);
  CHECK_FALSE(
      Json::parse(run({"report", folder.path.string(), "--json", "--no-timings"}).out).contains("planning_times"));
}

TEST_CASE("report --planning-times: the mean over the cells, on tables and pages, but not with --no-timings") {
  StudyMaker maker = example();
  maker.results.rows[0].row.timings = {{"planning_time_s", 0.5}};
  maker.results.rows[2].row.timings = {{"planning_time_s", 1.5}};
  const StudySummary summary = summarise_study(maker.results);
  const std::string text = to_text(study_document(summary, planning_times(maker.results)));
  CAPTURE(text);
  CHECK(text.find("  x best  planning\n") != std::string::npos);
  CHECK(text.find("   1.250       1 s\n") != std::string::npos);  // (0.5 + 1.5) / 2 of uniform
  CHECK(text.find("   1.250         -\n") != std::string::npos);
  CHECK(text.find("\n- planning: ") != std::string::npos);
  const Folder folder;
  const auto shows = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"report", folder.path.string()});
    return run(more).out.find("planning") != std::string::npos;
  };
  CHECK(shows({"--planning-times"}));
  CHECK_FALSE(shows({}));
  CHECK_FALSE(shows({"--planning-times", "--no-timings"}));
  REQUIRE(run({"report", folder.path.string(), "-o", folder.file("r.html"), "--planning-times"}).code == 0);
  CHECK(read(folder.file("r.html")).find("planning") != std::string::npos);
}

TEST_CASE("study report: what the runs rest on, by seed, group and planner") {
  StudyMaker maker;
  maker.results.manifest.columns = {"rests_on"};
  const auto basis = [](double computed, double links) {
    Detail::Record times{{"computed", computed}};
    Detail::Record transfers{{"published", links}, {"assumed", 1.0 - computed - links}};
    Detail::Record record = figures(50.0, 0.16);
    record.emplace_back("rests_on", Detail::Record{{"times", std::move(times)}, {"links", std::move(transfers)}});
    return record;
  };
  for (const int size : {4, 8}) {
    for (const std::uint64_t seed : {1U, 2U}) {
      // Size 4: 0.5 and 0.7 computed, 0.25 published; size 8: 0.8 and 0.8, 0.2, so that nothing is assumed.
      maker.cell({{"planner", "a"}, {"microbatch_size", size}}, seed);
      maker.row(CellStatus::Ok, size == 4 ? basis(seed == 1 ? 0.5 : 0.7, 0.25) : basis(0.8, 0.2));
    }
    maker.cell({{"planner", "b"}, {"microbatch_size", size}}, 1);
  }
  const StudySummary summary = summarise_study(maker.results);
  const std::string text = to_text(study_document(summary));
  CAPTURE(text);
  CHECK(text.find("  rests on\na ") != std::string::npos);  // of the planners
  CHECK(text.find("  rests on  samples/s") != std::string::npos);
  CHECK(text.find("  published 25.0 %, computed 60.0 %, assumed 15.0 %  ") != std::string::npos);
  CHECK(text.find("  published 20.0 %, computed 80.0 %  ") != std::string::npos);
  CHECK(text.find("  published 22.5 %, computed 70.0 %, assumed 7.5 %\n") != std::string::npos);  // of both sizes
  const Json record = Json::parse(to_json(study_record(summary), -1));
  CHECK(record["groups"][0]["lines"][0]["rests_on"]["times"]["computed"].get<double>() == doctest::Approx(0.6));
  CHECK(record["groups"][0]["lines"][1]["rests_on"].is_null());
  CHECK(record["overall"][0]["rests_on"]["links"]["published"].get<double>() == doctest::Approx(0.225));
  CHECK(study_csv(summary).find(",\"published 25.0 %, computed 60.0 %, assumed 15.0 %\"\n") != std::string::npos);
}

TEST_CASE("report: refuses other endings and the files of the results; tells of torn lines") {
  const Folder folder;
  const Ran pdf = run({"report", folder.path.string(), "-o", folder.file("r.pdf")});
  CHECK(pdf.code == 2);
  CHECK(pdf.err.find("ends in .txt, .md, .html, .csv or .svg") != std::string::npos);
  std::ofstream(folder.file("results.csv")) << "precious";
  CHECK(run({"report", folder.path.string(), "-o", folder.file("results.csv")}).code == 2);
  CHECK(read(folder.file("results.csv")) == "precious");
  CHECK(run({"report", folder.file("nowhere")}).code == 2);
  std::ofstream(folder.file("shards/torn.jsonl")) << "{\"key\": ";
  const Ran torn = run({"report", folder.path.string()});
  CHECK(torn.code == 0);
  CHECK(torn.err.find("warning: ") != std::string::npos);
  CHECK(torn.out == to_text(study_document(summarise_study(example().results))));
}

}  // namespace
}  // namespace stagecraft::study_report_test
