// The picture of a study: what it shows, and how.
#include "experiments/study_report/study_picture.hpp"

#include "experiments/view/svg_sheet.hpp"
#include "tests/experiments/study/study_results.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::study_picture_test {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// The widths of all bars, from the top.
std::vector<double> bar_widths(const std::string& svg) {
  static const std::regex kBar(R"re(<rect class="c\d+" x="[\d.]+" y="[\d.]+" width="([\d.]+)")re");
  std::vector<double> widths;
  for (std::sregex_iterator bar(svg.begin(), svg.end(), kBar), end; bar != end; ++bar) {
    widths.push_back(std::stod((*bar)[1]));
  }
  return widths;
}

BarFigure bars_of(std::vector<std::string> series, FigureValues values, std::vector<SeriesMean> means) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < values.size(); ++i) rows.push_back("row" + std::to_string(i));
  return {std::move(series), std::move(rows), std::move(values), std::move(means), "groups"};
}

std::string drawn(BarFigure bars) { return draw_figure({"Speed-up", "speed_up", true, std::move(bars)}); }

TEST_CASE("study picture: a bar for each planner with a mean, as long as the mean") {
  const std::string svg = drawn(bars_of({"a", "b", "c", "none"}, {{1.0, 1.5, 0.4, {}}, {1.0, 2.5, 0.4, {}}},
                                        {{1.0, 2, 2}, {2.0, 2, 2}, {0.4, 2, 2}, {std::nullopt, 0, 2}}));
  const std::vector<double> widths = bar_widths(svg);
  REQUIRE(widths.size() == 3);
  CHECK(std::abs(widths[1] / widths[0] - 2.0) < 1e-3);  // widths are written with two decimals
  CHECK(std::abs(widths[2] / widths[0] - 0.4) < 1e-3);
  CHECK(svg.find(">none</text>") != std::string::npos);
  CHECK(svg.find(">1.50, 2.50</text>") != std::string::npos);
  CHECK(svg.find(">0 of 2</text>") != std::string::npos);
  CHECK(count_of(svg, "<circle") == 6);  // three in each of the two rows
}

TEST_CASE("study picture: a value far beyond the means is a mark at the end of the axis") {
  const std::string svg = drawn(bars_of({"a"}, {{1.0}, {100.0}}, {{2.0, 2, 2}}));  // the axis ends at 6
  CHECK(count_of(svg, "<circle") == 1);
  CHECK(count_of(svg, "<polygon") == 1);
}

TEST_CASE("study picture: rows that do not fit are dots on the bars, and a picture is never higher than 500") {
  std::vector<std::string> series(10, "planner");
  const auto height = [](const std::string& svg) {
    std::smatch found;
    REQUIRE(std::regex_search(svg, found, std::regex(R"re(viewBox="0 0 900 (\d+)")re")));
    return std::stoi(found[1]);
  };
  for (const std::size_t rows : {2U, 16U, 17U, 100U}) {
    CAPTURE(rows);
    const FigureValues values(rows, std::vector<std::optional<double>>(series.size(), 1.0));
    const std::string with_means = drawn(bars_of(series, values, std::vector<SeriesMean>(10, {1.0, rows, rows})));
    CHECK(height(with_means) <= 500);
    CHECK(count_of(with_means, "<circle") == rows * series.size());
    CHECK((with_means.find(">row1<") == std::string::npos) == (rows > 16));
    const std::string without = drawn(bars_of(series, values, {}));
    CHECK(height(without) <= 500);
    CHECK((without.find(" not shown") == std::string::npos) == (rows < 20));
  }
}

TEST_CASE("study picture: names are escaped, shortened within characters, and there is no script") {
  const std::string svg = drawn(
      bars_of({"<script>&\n", std::string(50, 'x') + "é" + std::string(50, 'y')}, {}, {{1.0, 1, 1}, {1.0, 1, 1}}));
  CHECK(svg.find("<script") == std::string::npos);
  CHECK(svg.find("&lt;script&gt;&amp;\\n") != std::string::npos);
  CHECK(svg.find("é…") == std::string::npos);  // the name is cut after 57 letters
  CHECK(svg.find("yyy…</text>") != std::string::npos);
}

TEST_CASE("study picture: ticks are at multiples of 1, 2 or 5 times a power of ten, and no more than asked for") {
  for (const double largest : {0.003, 0.95, 1.0, 1.02, 7.9, 12.0, 999.0, 4.1e6}) {
    CAPTURE(largest);
    const std::vector<double> ticks = ticks_up_to(largest, 8);
    REQUIRE(ticks.size() >= 3);
    CHECK(ticks.size() <= 9);
    CHECK(ticks.front() == 0.0);
    CHECK(ticks.back() <= largest * (1 + 1e-6));
    const double leading = ticks[1] / std::pow(10.0, std::floor(std::log10(ticks[1]) + 1e-9));
    const bool is_round = std::ranges::any_of(std::vector<double>{1.0, 2.0, 5.0},
                                              [&](double factor) { return std::abs(leading - factor) < 1e-6; });
    CHECK(is_round);
  }
}

StudyMaker two_models() {
  StudyMaker maker;
  const auto cell = [&](const char* model, const char* planner) -> StudyMaker& {
    return maker.cell({{"model", model}, {"planner", planner}});
  };
  cell("m", "a").ok(100.0);
  cell("m", "b").ok(300.0);
  cell("n", "a").ok(100.0);
  cell("n", "b").ok(25.0);
  return maker;
}

TEST_CASE("study picture: speed-ups over the baseline, and regret without one") {
  StudyMaker maker = two_models();
  const StudyFigure regret = choose_figure(summarise_study(maker.results));
  CHECK(regret.value == "regret");
  const auto& regrets = std::get<BarFigure>(regret.content);
  CHECK(regrets.values == FigureValues{{3.0, 1.0}, {1.0, 4.0}});
  CHECK(regrets.means[0].mean.value() == doctest::Approx(std::sqrt(3.0)));
  CHECK(regrets.rows == std::vector<std::string>{"m", "n"});
  maker.results.manifest.baseline = Keys{{"planner", "a"}};
  const StudyFigure speed_up = choose_figure(summarise_study(maker.results));
  CHECK(std::get<BarFigure>(speed_up.content).values == FigureValues{{1.0, 3.0}, {1.0, 0.25}});
}

TEST_CASE("study picture: the study's first table of numbers comes first; regret in a table is that of the report") {
  StudyMaker maker = two_models();
  maker.results.manifest.baseline = Keys{{"planner", "a"}};
  TableChoice outcome{.rows = {"model"}, .columns = {"planner"}, .value = "outcome"};
  TableChoice regret{.title = "far", .rows = {"model"}, .columns = {"planner"}, .value = "regret"};
  regret.mean = MeanKind::Geometric;
  maker.results.manifest.tables = {outcome, regret};
  const StudySummary summary = summarise_study(maker.results);
  const StudyFigure figure = choose_figure(summary);
  CHECK(figure.title == "far");
  const auto& bars = std::get<BarFigure>(figure.content);
  CHECK(bars.values == FigureValues{{3.0, 1.0}, {1.0, 4.0}});
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(bars.means[i].mean.value() == doctest::Approx(summary.overall[i].claims.regret.value()));
  }
}

TEST_CASE("study picture: a table over one key other than the planner is curves with gaps, in panels") {
  StudyMaker maker;
  for (const char* model : {"m", "n"}) {
    for (const int size : {1, 2, 4}) {
      maker.cell({{"model", model}, {"planner", "a"}, {"platform.nodes.count", size}});
      if (size != 2) maker.ok(10.0 * size);
    }
  }
  TableChoice table{.rows = {"model", "planner"}, .columns = {"platform.nodes.count"}};
  table.value = "throughput_samples_per_s";
  maker.results.manifest.tables = {table};
  const StudyFigure figure = choose_figure(summarise_study(maker.results));
  const auto& curves = std::get<CurveFigure>(figure.content);
  CHECK(curves.column_key == "nodes");
  CHECK(curves.columns == std::vector<std::string>{"1", "2", "4"});
  CHECK(curves.series == std::vector<std::string>{"a"});
  REQUIRE(curves.panels.size() == 2);
  CHECK(curves.panels[1].heading == "n");
  CHECK(curves.panels[1].values == FigureValues{{10.0, std::nullopt, 40.0}});
  const std::string svg = draw_figure(figure);
  CHECK(svg.find("<path") == std::string::npos);  // no two neighbours
  CHECK(count_of(svg, "<circle") == 5);           // one of the legend
}

TEST_CASE("study picture: periods that a planner claims are points over the simulated ones") {
  StudyMaker maker;
  maker.results.manifest.columns = {"details.claimed_period_s"};
  for (const int sample : {1, 2}) {
    const double period = 0.5 * sample;
    maker.cell({{"planner", "exhaustive"}, {"exhaustive.sample", sample}})
        .row(CellStatus::Ok, {{"throughput_samples_per_s", 1.0 / period},
                              {"period_s", period},
                              {"details", Detail::Record{{"claimed_period_s", 2 * period}}}});
  }
  const StudyFigure figure = choose_figure(summarise_study(maker.results));
  const auto& points = std::get<PointFigure>(figure.content);
  CHECK(points.series == std::vector<std::string>{"claimed period"});
  REQUIRE(points.panels.size() == 1);
  CHECK(points.panels[0].points[0] == std::vector<std::pair<double, double>>{{0.5, 1.0}, {1.0, 2.0}});
  CHECK(count_of(draw_figure(figure), "<circle") == 3);  // one of the legend
}

/// Two schedules in each of two groups; the baseline takes 100 bytes and has one sample/s.
StudyMaker two_schedules() {
  StudyMaker maker;
  const auto cell = [&](const char* model, const char* schedule, double throughput, std::int64_t peak) {
    maker.cell({{"model", model}, {"planner", "a"}, {"label", schedule}, {"schedule", schedule}})
        .row(CellStatus::Ok, {{"throughput_samples_per_s", throughput}, {"peak_memory_bytes", peak}});
  };
  cell("m", "1f1b", 1.0, 100);
  cell("m", "gpipe", 1.25, 400);
  cell("n", "1f1b", 1.0, 100);
  cell("n", "gpipe", 0.8, 50);
  maker.results.manifest.baseline = Keys{{"label", "1f1b"}};
  return maker;
}

TEST_CASE("study picture: schedules of one planner are points, time over memory, both over the baseline's") {
  using Point = std::optional<std::pair<double, double>>;
  const StudyFigure figure = choose_figure(summarise_study(two_schedules().results));
  const auto& trade = std::get<TradeFigure>(figure.content);
  CHECK(trade.series == std::vector<std::string>{"1f1b", "gpipe"});
  REQUIRE(trade.panels.size() == 2);
  CHECK(trade.panels[0].heading == "m");
  CHECK(trade.panels[0].points == std::vector<Point>{{{1.0, 1.0}}, {{4.0, 0.8}}});
  CHECK(trade.panels[1].points == std::vector<Point>{{{1.0, 1.0}}, {{0.5, 1.25}}});
  const std::string svg = draw_figure(figure);
  CHECK(count_of(svg, "<circle") == 5);   // two of the legend
  CHECK(count_of(svg, "<polygon") == 1);  // four times the memory: beyond the axis
  CHECK(count_of(svg, R"(class="r")") == 4);
  CHECK(svg.find("Triangles: more memory") != std::string::npos);
}

TEST_CASE("study picture: without a baseline in each group, or with several planners, schedules have bars") {
  StudyMaker none = two_schedules();
  none.results.manifest.baseline = Keys{{"label", "1f1b"}, {"model", "m"}};  // a cell of one group only
  CHECK(std::holds_alternative<BarFigure>(choose_figure(summarise_study(none.results)).content));
  StudyMaker several = two_schedules();
  several.cell({{"model", "m"}, {"planner", "b"}, {"label", "b"}, {"schedule", "zb-v"}}).ok(1.0);
  CHECK(std::holds_alternative<BarFigure>(choose_figure(summarise_study(several.results)).content));
}

TEST_CASE("study picture: where colours repeat, dots are rings") {
  const std::vector<std::string> series(16, "planner");
  const FigureValues values(2, std::vector<std::optional<double>>(series.size(), 1.0));
  const std::string svg = drawn(bars_of(series, values, {}));
  CHECK(count_of(svg, R"(<circle class="p)") == 6);  // the last two in two rows and in the legend
}

TEST_CASE("study picture: with one planner the samples/s, over the only key that differs") {
  StudyMaker maker;
  for (const int size : {1, 2, 4}) maker.cell({{"planner", "a"}, {"microbatch_size", size}}).ok(10.0 * size);
  const auto curves = std::get<CurveFigure>(choose_figure(summarise_study(maker.results)).content);
  CHECK(curves.columns == std::vector<std::string>{"1", "2", "4"});
  CHECK(curves.panels[0].values == FigureValues{{10.0, 20.0, 40.0}});
  maker.cell({{"planner", "a"}, {"microbatch_size", 8}, {"tag.kind", "b"}});
  const auto bars = std::get<BarFigure>(choose_figure(summarise_study(maker.results)).content);
  CHECK(bars.means.empty());  // samples/s of different groups have no mean
  CHECK(bars.values == FigureValues{{10.0}, {20.0}, {40.0}});
}

TEST_CASE("study picture: a study without any figure has an empty picture") {
  StudyMaker maker;
  maker.cell({{"model", "toy"}, {"planner", "a"}});
  CHECK(study_picture(summarise_study(maker.results)).starts_with("<svg"));
}

TEST_CASE("study picture: rows are named by the keys that tell them apart") {
  using Names = std::vector<std::string>;
  CHECK(row_names({{{"model", "m"}, {"tag.cluster", "A"}, {"platform.nodes.count", 1}},
                   {{"model", "m"}, {"tag.cluster", "B"}, {"platform.nodes.count", 2}}}) == Names{"m, A", "m, B"});
  CHECK(row_names({{{"model", "m"}, {"platform.nodes.count", 1}}, {{"model", "m"}, {"platform.nodes.count", 2}}}) ==
        Names{"m, nodes 1", "m, nodes 2"});
}

}  // namespace
}  // namespace stagecraft::study_picture_test
