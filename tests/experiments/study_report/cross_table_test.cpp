// The tables that a study asks for in place of one for each group.
#include "experiments/study/row_figures.hpp"
#include "experiments/study_report/study_report.hpp"
#include "experiments/study_report/summary.hpp"
#include "experiments/study_report/table_section.hpp"
#include "sim/io/json.hpp"
#include "tests/experiments/study/study_results.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

Detail::Record figures(double time) {
  return {{"iteration_time_s", time},
          {"load_s", 0.5},
          {"throughput_samples_per_s", 8.0 / time},
          {"bubble_ratio", 0.25},
          {"peak_memory_bytes", std::int64_t{1} << 30}};
}

/// Two planners, one of them under two labels, on two networks and at two speeds. Planned with `eager`, the second
/// speed does not fit.
StudyMaker example() {
  StudyMaker maker("tables");
  maker.results.manifest.baseline = Keys{{"planner", "base"}};
  for (const int speed : {1, 2}) {
    for (const char* network : {"analytic", "platform"}) {
      const double slower = std::string(network) == "platform" ? 1.5 : 1.0;
      const auto keys = [&](const char* planner, const char* label) {
        Keys keys{{"model", "m"}, {"tag.speed", speed}, {"network", network}, {"planner", planner}};
        if (*label != '\0') keys.insert(keys.end(), {{"label", label}, {"spp.inflight_cap", label}});
        return keys;
      };
      maker.cell(keys("base", "")).row(CellStatus::Ok, figures(4.0 * slower * slower));
      maker.cell(keys("spp", "lazy")).row(CellStatus::Ok, figures((speed == 1 ? 1.0 : 4.0) * slower));
      maker.cell(keys("spp", "eager"));
      if (speed == 1) maker.row(CellStatus::Ok, figures(2.0 * slower));
      if (speed == 2 && slower == 1.0) maker.row(CellStatus::Infeasible, {}, "no room");
    }
  }
  return maker;
}

CrossTable table_of(const TableChoice& choice) {
  StudyMaker maker = example();
  maker.results.manifest.tables = {choice};
  return summarise_study(maker.results).tables.at(0);
}

TEST_CASE("study tables: means of speed-ups over pairs that both ran, with what is left out") {
  const CrossTable table = table_of({.title = {},
                                     .rows = {"tag.speed"},
                                     .columns = {"planner"},
                                     .value = "speed_up",
                                     .mean = MeanKind::Geometric,
                                     .over = {},
                                     .where = {}});
  REQUIRE(table.rows == std::vector<Keys>{{{"tag.speed", 1}}, {{"tag.speed", 2}}});
  REQUIRE(table.columns.size() == 3);
  CHECK(table.columns[1] == Keys{{"planner", "lazy"}});
  CHECK(table.cells[0][0].mean == 1.0);
  CHECK(std::abs(*table.cells[0][1].mean - std::sqrt(4.0 * 6.0)) < 1e-12);  // 4 / 1 and 9 / 1.5
  CHECK(std::abs(*table.all[1].mean - std::pow(4.0 * 6.0 * 1.0 * 1.5, 0.25)) < 1e-12);
  CHECK(table.cells[0][2].used == 2);
  CHECK(table.cells[1][2].used == 0);
  CHECK_FALSE(table.cells[1][2].mean);
  CHECK(table.cells[1][2].counts.of(CellStatus::Infeasible) == 1);
  CHECK(table.cells[1][2].counts.not_run == 1);
  CHECK(table.all[2].used == 2);
  CHECK(table.all[2].counts.total() == 4);
}

TEST_CASE("study tables: a value over that of another cell, of the same planner or of one planner") {
  TableChoice choice{.title = {},
                     .rows = {"planner"},
                     .columns = {"tag.speed"},
                     .value = "iteration_time_s",
                     .mean = MeanKind::Geometric,
                     .over = Keys{{"network", "analytic"}},
                     .where = Keys{{"network", "platform"}}};
  const CrossTable contention = table_of(choice);
  CHECK(contention.cells[0][0].mean == 2.25);
  CHECK(contention.cells[1][0].mean == 1.5);
  CHECK(contention.several.empty());

  choice.over = Keys{{"label", "eager"}};
  choice.where = {};
  const CrossTable against = table_of(choice);
  CHECK(std::abs(*against.cells[0][0].mean - std::sqrt(2.0 * 3.0)) < 1e-12);
  CHECK(against.cells[1][0].mean == 0.5);
  CHECK(against.cells[2][0].mean == 1.0);
  CHECK(against.cells[0][1].used == 0);

  choice.over = Keys{{"planner", "spp"}};
  const CrossTable several = table_of(choice);
  CHECK(several.several == std::vector<std::string>{"lazy", "eager"});
  CHECK(several.cells[1][0].mean == 1.0);
}

TEST_CASE("study tables: kinds of means, and what has no logarithm") {
  StudyMaker maker;
  for (const int value : {0, 2, 8}) {
    maker.cell({{"model", "m"}, {"planner", "p"}, {"microbatches", value}})
        .row(CellStatus::Ok, {{"stages", value}, {"details", Detail::Record{{"depth", value}}}});
  }
  maker.cell({{"model", "m"}, {"planner", "p"}, {"microbatches", 99}})
      .row(CellStatus::OutOfMemory, {{"stages", 1000}, {"details", Detail::Record{{"depth", 1000}}}});
  const auto mean = [&](MeanKind kind, const std::string& value) {
    maker.results.manifest.tables = {{.title = {},
                                      .rows = {"model"},
                                      .columns = {"planner"},
                                      .value = value,
                                      .mean = kind,
                                      .over = {},
                                      .where = {}}};
    return summarise_study(maker.results).tables.at(0).cells.at(0).at(0);
  };
  CHECK(std::abs(*mean(MeanKind::Geometric, "stages").mean - 4.0) < 1e-12);
  CHECK(mean(MeanKind::Geometric, "stages").used == 2);
  CHECK(std::abs(*mean(MeanKind::Arithmetic, "details.depth").mean - 10.0 / 3.0) < 1e-12);
  CHECK(mean(MeanKind::Arithmetic, "details.depth").used == 3);
  CHECK(mean(MeanKind::Smallest, "details.depth").mean == 0.0);
  CHECK(mean(MeanKind::Largest, "stages").mean == 8.0);
  CHECK_FALSE(mean(MeanKind::Largest, "details.width").mean);
}

TEST_CASE("study tables: T / W of a row") {
  const auto ratio = [](Detail::Record record) { return figure_of(Row{.figures = std::move(record)}, kLoadRatio); };
  CHECK(ratio({{"iteration_time_s", 3.0}, {"load_s", 2.0}}) == Detail(1.5));
  CHECK(ratio({{"iteration_time_s", 3.0}}) == Detail());
  CHECK(ratio({{"load_s", 2.0}, {"period_s", 3.0}}) == Detail());
  CHECK(ratio({{"iteration_time_s", 0.0}, {"load_s", 0.0}}) == Detail());
}

TEST_CASE("study tables: they stand in place of the groups, in words and as data") {
  StudyMaker maker = example();
  maker.results.manifest.tables = {
      {.title = "Who is faster?",
       .rows = {"tag.speed", "network"},
       .columns = {"planner"},
       .value = "speed_up",
       .mean = MeanKind::Geometric,
       .over = {},
       .where = {}},
      {.title = {},
       .rows = {"model"},
       .columns = {"network", "tag.speed"},
       .value = "load_ratio",
       .mean = MeanKind::Largest,
       .over = {},
       .where = Keys{{"label", "lazy"}}},
      {.title = {}, .rows = {"tag.speed"}, .columns = {"planner"}, .value = "outcome", .over = {}, .where = {}},
  };
  const StudySummary summary = summarise_study(maker.results);
  const std::string text = to_text(study_document(summary));
  const std::size_t begin = text.find("\nWho is");
  REQUIRE(begin != std::string::npos);
  CHECK(text.substr(begin) ==
        R"(
Who is faster?
Geometric means of samples/s over that of the cell with planner base. (n of m):)"
        R"( n of m cells are ok, and so is the cell by which they are divided; the others are left out.
speed  network    base   lazy           eager
1      analytic  1.000  4.000           2.000
1      platform  1.000  6.000           3.000
2      analytic  1.000  1.000      - (0 of 1)
2      platform  1.000  1.500      - (0 of 1)
all              1.000  2.449  2.449 (2 of 4)

Load ratio, label lazy
Largest iteration time over load. Only cells with label lazy.
model  network analytic, speed 1  network platform, speed 1  network analytic, speed 2  network platform, speed 2
m                          2.000                      3.000                      8.000                     12.000

Outcome
How the cells ended.
speed  base  lazy                          eager
1      2 ok  2 ok                           2 ok
2      2 ok  2 ok        1 infeasible, 1 not run
all    4 ok  4 ok  2 ok, 1 infeasible, 1 not run

Claims and regret
planner  claims  mean error  worst error  rank  compared  regret  worst regret  x best
base          0           -            -     -         4   2.449         6.000       -
lazy          0           -            -     -         4   1.000         1.000       -
eager         0           -            -     -         2   2.000         2.000       -
- error: (claimed − simulated) / simulated time
- rank: Spearman's correlation of both times of a sample, each over the best simulated one of its group
- regret: the group's best samples/s over the planner's
- x best: time over the least possible for the plan's cut (1: no order is faster); geometric mean

Why cells gave no figures
- 1 x infeasible: no room
)");
  const Json record = Json::parse(to_json(study_record(summary), -1));
  const Json& first = record["tables"][0];
  CHECK(first["title"] == "Who is faster?");
  CHECK(first["over"]["planner"] == "base");
  const Json& last = first["cells"].back();
  CHECK(last["keys"]["planner"] == "eager");
  CHECK(last["value"].is_null());
  CHECK(last["used"] == 0);
  CHECK(last["not_run"] == 1);
  CHECK(record["groups"].size() == 4);
  CHECK(study_csv(summary).find("eager") != std::string::npos);
}

}  // namespace
}  // namespace stagecraft
