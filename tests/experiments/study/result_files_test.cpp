// The content of a study's result files, read by other means than they were written.
#include "experiments/study/result_files.hpp"

#include "experiments/study/result_table.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "sim/io/sha256.hpp"
#include "tests/experiments/study/result_reading.hpp"
#include "tests/experiments/study/study_sample.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace stagecraft {
namespace {

using Line = std::vector<std::string>;

/// The results of a manifest and rows, without the files.
Results results_of(const Manifest& manifest) {
  Results results{.manifest = manifest, .rows = {}, .warnings = {}};
  for (std::size_t i = 0; i < manifest.cells.size(); ++i) results.rows.push_back({i, sample_row(manifest, i)});
  return results;
}

/// The field of a line by the name of its column.
std::string field(const std::vector<Line>& csv, std::size_t line, const std::string& name) {
  const auto column = std::ranges::find(csv.front(), name);
  REQUIRE(column != csv.front().end());
  REQUIRE(csv.at(line).size() == csv.front().size());
  return csv[line][static_cast<std::size_t>(column - csv.front().begin())];
}

TEST_CASE("result table: columns are what every row has, then keys as they come, then the figures") {
  const Results results = results_of(sample_manifest(8));
  const ResultTable table = result_table(results);
  Line names;
  for (const ResultColumn& column : table.columns) names.push_back(column.name);
  const Line expected = {"cell",      "key",      "status",  "message",      "seed",
                         "model",     "platform", "planner", "microbatches", "pipedream.straight",
                         "spp.duplex"};
  CHECK(Line(names.begin(), names.begin() + 11) == expected);
  CHECK(names[11] == "iteration_time_s");
  CHECK(names.back() == "details");
  CHECK(names.size() == 11 + figure_columns().size());
  CHECK(table.row_count == 8);
  CHECK(table.row(0)[9] == Detail(true));
  CHECK(table.row(1)[9] == Detail());
  CHECK(table.columns[9].type == ColumnType::Whole);
  CHECK(table.columns[10].type == ColumnType::Text);
}

TEST_CASE("result table: cells without rows have no line but their keys have columns") {
  Results results = results_of(sample_manifest(3));
  results.rows.erase(results.rows.begin(), results.rows.begin() + 2);
  const ResultTable table = result_table(results);
  REQUIRE(table.row_count == 1);
  CHECK(table.row(0)[0] == Detail(2));
  CHECK(std::ranges::find(table.columns, "spp.duplex", &ResultColumn::name) != table.columns.end());
}

TEST_CASE("result table: a column's type is the narrowest that takes the values of all cells") {
  Results results = results_of(sample_manifest(3));
  const auto with = [&](const std::string& name, const std::vector<Detail>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      results.manifest.cells[i].cell.keys.emplace_back(name, values[i]);
    }
  };
  with("whole", {1, Detail(), 3});
  with("real", {1, 2.5});
  with("mixed", {"101/11/51", 5});
  with("texts", {Detail::List{1}, "none"});
  with("lists", {Detail(Detail::List{1}), Detail()});
  with("nothing", {Detail()});
  std::map<std::string, ColumnType> types;
  for (const ResultColumn& column : result_table(results).columns) types[column.name] = column.type;
  CHECK(types["whole"] == ColumnType::Whole);
  CHECK(types["real"] == ColumnType::Real);
  CHECK(types["mixed"] == ColumnType::Any);
  CHECK(types["texts"] == ColumnType::Text);
  CHECK(types["lists"] == ColumnType::Json);
  CHECK(types["nothing"] == ColumnType::Any);
}

TEST_CASE("result table: a figure without a column is our bug, as is one of another type") {
  CHECK_FALSE(find_misfit(sample_row(sample_manifest(1), 0).figures));
  CHECK_FALSE(find_misfit({{"period_s", Detail()}, {"bubble_ratio", 0}}));
  CHECK(find_misfit({{"stages", 4}, {"speed", 1.0}}) == "speed");
  CHECK(find_misfit({{"stages", 4.5}}) == "stages");
  CHECK(find_misfit({{"stages", true}}) == "stages");
  CHECK(find_misfit({{"configuration", Detail::List{}}}) == "configuration");
  CHECK(find_misfit({{"details", "text"}}) == "details");
  Results results = results_of(sample_manifest(1));
  results.rows[0].row.figures.emplace_back("speed", 1.0);
  CHECK_THROWS_AS(static_cast<void>(result_table(results)), InternalError);
}

TEST_CASE("result files: the CSV file and the database say the same") {
  const ScratchFolder folder;
  write_results(folder / "out", results_of(sample_manifest(25)));
  const auto csv = read_csv(content_of(folder / "out/results.csv"));
  REQUIRE(csv.size() == 26);
  CHECK(field(csv, 1, "iteration_time_s") == "0.1");
  CHECK(field(csv, 1, "bubble_ratio") == "0.3333333333333333");
  CHECK(field(csv, 1, "peak_memory_bytes") == "12025908428");
  CHECK(field(csv, 1, "pipedream.straight") == "true");
  CHECK(field(csv, 4, "pipedream.straight") == "false");
  CHECK(field(csv, 1, "spp.duplex").empty());
  CHECK(field(csv, 1, "details") == R"({"states":7,"note":"a \"quoted\", one"})");
  CHECK(field(csv, 7, "status") == "infeasible");
  CHECK(field(csv, 7, "iteration_time_s").empty());
  CHECK(field(csv, 11, "status") == "out_of_memory");

  const std::string database = folder / "out/results.sqlite";
  CHECK(query_one(database, "PRAGMA integrity_check") == "ok");
  CHECK(query_one(database, "PRAGMA journal_mode") == "delete");
  for (std::size_t column = 0; column < csv.front().size(); ++column) {
    const std::string& name = csv.front()[column];
    CAPTURE(name);
    const auto values = query(database, "SELECT \"" + name + "\" FROM results ORDER BY cell");
    REQUIRE(values.size() == 25);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& text = csv[i + 1][column];
      const std::string& value = values[i][0];
      const bool is_flag = text == "true" || text == "false";
      CHECK(value == (is_flag ? (text == "true" ? "1" : "0") : (text.empty() && name != "message" ? "NULL" : text)));
    }
  }
  CHECK(query_one(database, "SELECT count(DISTINCT typeof(iteration_time_s)) FROM results") == "2");  // real, null
  CHECK(query_one(database, "SELECT typeof(stages) FROM results WHERE cell = 0") == "integer");
  CHECK(query_one(database, "SELECT value FROM study WHERE name = 'cells'") == "25");
}

TEST_CASE("result files: timings are apart") {
  const ScratchFolder folder;
  Results results = results_of(sample_manifest(2));
  results.rows[1].row.timings = {{"planning_time_s", 1e-6}};
  write_results(folder.path.string(), results);
  CHECK(content_of(folder / "timings.csv") == "key,planning_time_s,wall_time_s\n" + results.manifest.cells[0].key +
                                                  ",0.25,0.5\n" + results.manifest.cells[1].key + ",1e-06,\n");
  CHECK(content_of(folder / "results.csv").find("_time_s,w") == std::string::npos);
}

TEST_CASE("result files: texts of every kind survive, in names and in values") {
  const ScratchFolder folder;
  const std::vector<std::string>& texts = hostile_texts();
  Results results = results_of(sample_manifest(texts.size()));
  results.manifest.study = texts[7];
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Keys& keys = results.manifest.cells[i].cell.keys;
    keys.emplace_back("label", texts[i]);
    if (texts[i].find('\0') == std::string::npos) keys.emplace_back("platform." + texts[i], static_cast<int>(i));
    results.rows[i].row.message = texts[i];
  }
  write_results(folder / texts[4], results);  // `\r\n` is a good name for a folder
  const std::string database = folder / (texts[4] + "/results.sqlite");
  const auto csv = read_csv(content_of(folder / (texts[4] + "/results.csv")));
  REQUIRE(csv.size() == texts.size() + 1);
  const auto labels = query(database, "SELECT label, message FROM results ORDER BY cell");
  REQUIRE(labels.size() == texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CAPTURE(texts[i]);
    CHECK(field(csv, i + 1, "label") == texts[i]);
    CHECK(field(csv, i + 1, "message") == texts[i]);
    CHECK(labels[i] == Line{texts[i], texts[i]});
    if (texts[i].find('\0') != std::string::npos) continue;
    CHECK(field(csv, i + 1, "platform." + texts[i]) == std::to_string(i));
  }
  CHECK(query(database, "SELECT name FROM pragma_table_info('results')").size() == csv.front().size());
  CHECK(query_one(database, "SELECT value FROM study WHERE name = 'study'") == texts[7]);
  CHECK(query_one(database, "SELECT count(*) FROM sqlite_master WHERE type = 'table'") == "2");
}

TEST_CASE("result files: names that a database takes for the same are told apart") {
  const ScratchFolder folder;
  Results results = results_of(sample_manifest(1));
  Keys& keys = results.manifest.cells[0].cell.keys;
  keys = {{"platform.A.memory", "1 GiB"}, {"platform.a.memory", "2 GiB"}, {"status", "my own"}, {"stages", 9}};
  write_results(folder.path.string(), results);
  const auto csv = read_csv(content_of(folder / "results.csv"));
  CHECK(field(csv, 1, "platform.A.memory") == "1 GiB");
  CHECK(field(csv, 1, "platform.a.memory (2)") == "2 GiB");
  CHECK(field(csv, 1, "status") == "ok");
  CHECK(field(csv, 1, "status (2)") == "my own");
  CHECK(field(csv, 1, "stages") == "9");
  CHECK(field(csv, 1, "stages (2)") == "4");
  CHECK(query_one(folder / "results.sqlite", "SELECT \"platform.a.memory (2)\" FROM results") == "2 GiB");
}

TEST_CASE("result files: written again they are the same, and nothing else is left behind") {
  const ScratchFolder folder;
  const Results results = results_of(sample_manifest(30));
  write_results(folder / "a", results);
  const std::string csv = content_of(folder / "a/results.csv");
  const std::string tables = dump(folder / "a/results.sqlite");
  write_results(folder / "a", results);
  Results elsewhere = results;
  elsewhere.manifest.command = {"run", "--workers", "2"};
  elsewhere.manifest.file = "/elsewhere/sample.yaml";
  elsewhere.manifest.files[0].path = "/elsewhere/vgg16.yaml";
  for (CellResult& result : elsewhere.rows) result.row.timings = {{"planning_time_s", 9.0}};
  write_results(folder / "b", elsewhere);
  for (const char* name : {"a", "b"}) {
    CHECK(content_of(folder / (name + std::string("/results.csv"))) == csv);
    CHECK(dump(folder / (name + std::string("/results.sqlite"))) == tables);
    const auto entries = std::filesystem::directory_iterator(folder / name);
    CHECK(std::distance(begin(entries), end(entries)) == 3);
  }
}

TEST_CASE("result files: what cannot be written is refused, and the old file stays") {
  const ScratchFolder folder;
  const Results results = results_of(sample_manifest(2));
  std::filesystem::create_directories(folder / "blocked/results.sqlite/inside");
  CHECK_THROWS_AS(write_results(folder / "blocked", results), InputError);
  const auto entries = std::filesystem::directory_iterator(folder / "blocked");
  CHECK(std::distance(begin(entries), end(entries)) == 1);
  write_results(folder / "good", results);
  const std::string before = dump(folder / "good/results.sqlite");
  Results broken = results_of(sample_manifest(4));
  broken.rows[3].row.key = broken.rows[0].row.key;  // breaks the primary key halfway
  CHECK_THROWS_AS(write_results(folder / "good", broken), InputError);
  CHECK(dump(folder / "good/results.sqlite") == before);
  CHECK_THROWS_AS(write_results("/proc/none", results), InputError);
}

TEST_CASE("result files: a folder that looks like an address is a folder") {
  const ScratchFolder folder;
  const auto back = std::filesystem::current_path();
  std::filesystem::current_path(folder.path);
  write_results("file:x?mode=memory", results_of(sample_manifest(2)));
  std::filesystem::current_path(back);
  CHECK(query_one(folder / "file:x?mode=memory/results.sqlite", "SELECT count(*) FROM results") == "2");
}

TEST_CASE("result files: 10,000 rows, each key once") {
  const ScratchFolder folder;
  write_results(folder.path.string(), results_of(sample_manifest(10'000)));
  CHECK(query_one(folder / "results.sqlite", "SELECT count(DISTINCT key) FROM results") == "10000");
  CHECK(read_csv(content_of(folder / "results.csv")).size() == 10'001);
}

TEST_CASE("result files: the reference tells every figure in the order of the columns") {
  const std::string page = content_of(STAGECRAFT_SOURCE_DIR "/docs/reference/study-results.md");
  std::size_t at = page.find("## Figures");
  REQUIRE(at != std::string::npos);
  for (const ResultColumn& column : figure_columns()) {
    CAPTURE(column.name);
    at = page.find("| `" + column.name + "` |", at);
    REQUIRE(at != std::string::npos);
  }
}

}  // namespace
}  // namespace stagecraft
