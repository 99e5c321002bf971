// The verb `collect`: how rows of several shards and folders become one.
#include "experiments/commands/collection.hpp"
#include "experiments/study/shard.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/experiments/study/result_reading.hpp"
#include "tests/experiments/study/study_sample.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <random>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Deals the rows to shards as chance has it.
std::vector<std::vector<Row>> deal(std::vector<Row> rows, std::size_t shards, unsigned seed) {
  std::mt19937 random(seed);  // NOLINT(bugprone-random-generator-seed,cert-msc51-cpp): the same each time
  std::shuffle(rows.begin(), rows.end(), random);
  std::vector<std::vector<Row>> dealt(shards);
  for (const Row& row : rows) dealt[random() % shards].push_back(row);
  return dealt;
}

void append_to_shard(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::app) << text;
}

TEST_CASE("collect: neither the order of rows nor their split makes a difference") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(60);
  const std::vector<Row> rows = sample_rows(manifest);
  write_study(folder / "one", manifest, {rows});
  CHECK(run({"collect", folder / "one"}).code == 0);
  const std::string csv = content_of(folder / "one/results.csv");
  const std::string tables = dump(folder / "one/results.sqlite");
  REQUIRE(read_csv(csv).size() == 61);
  for (unsigned seed = 1; seed <= 3; ++seed) {
    const std::string name = folder / std::to_string(seed);
    auto shards = deal(rows, 4, seed);
    shards.push_back(shards[1]);  // an attempt that was repeated
    write_study(name + "a", manifest, {shards[0], shards[1]});
    write_study(name + "b", manifest, {shards[2], shards[3], shards[4]});
    CHECK(run({"collect", name + "b", name + "a"}).code == 0);
    CHECK(content_of(name + "b/results.csv") == csv);
    CHECK(dump(name + "b/results.sqlite") == tables);
    CHECK_FALSE(std::filesystem::exists(name + "a/results.csv"));
    CHECK(run({"collect", name + "a", name + "b", "-o", name}).code == 0);
    CHECK(content_of(name + "/results.csv") == csv);
  }
}

TEST_CASE("collect: it says how many cells have rows and which have none") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(20);
  std::vector<Row> rows = sample_rows(manifest);
  rows.erase(rows.begin() + 3, rows.begin() + 6);
  rows.pop_back();
  write_study(folder / "d", manifest, {rows});
  const Ran text = run({"collect", folder / "d"});
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(text.out ==
        "study 'sample': 16 of 20 cells have rows: 13 ok, 2 infeasible, 1 out_of_memory\n"
        "4 cells have no row yet: 3 to 5, 19\n"
        "  collect their shards too, or run the study again with --resume\n"
        "written: " +
            folder / "d/results.csv" + "\nwritten: " + folder / "d/results.sqlite" +
            "\nwritten: " + folder / "d/timings.csv" + "\n");
  const Json json = Json::parse(run({"collect", folder / "d", "--json"}).out);
  CHECK(json["cells"] == 20);
  CHECK(json["rows"] == 16);
  CHECK(json["complete"] == false);
  CHECK(json["missing"] == Json({3, 4, 5, 19}));
  CHECK(json["statuses"] ==
        Json({{"ok", 13}, {"infeasible", 2}, {"out_of_memory", 1}, {"timeout", 0}, {"crashed", 0}, {"invalid", 0}}));
  CHECK(json["files"].size() == 3);
  CHECK(json["warnings"].empty());
}

TEST_CASE("collect: rows that failed end it with 4") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(3);
  for (const CellStatus status : {CellStatus::Timeout, CellStatus::Crashed, CellStatus::Invalid}) {
    std::vector<Row> rows = sample_rows(manifest);
    rows[1] = {.key = rows[1].key, .status = status, .message = "no answer", .figures = {}, .timings = {}};
    const std::string name = folder / to_string(status);
    write_study(name, manifest, {rows});
    const Ran ran = run({"collect", name, "--json"});
    CHECK(ran.code == 4);
    CHECK(Json::parse(ran.out)["statuses"][to_string(status)] == 1);
    CHECK(Json::parse(ran.out)["complete"] == true);
  }
}

TEST_CASE("collect: a row that depends on the machine yields to one that does not, whichever is read first") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(2);
  const std::vector<Row> rows = sample_rows(manifest);
  const Row late{.key = rows[0].key, .status = CellStatus::Timeout, .message = "", .figures = {}, .timings = {}};
  write_study(folder / "before", manifest, {{late}, rows});
  write_study(folder / "after", manifest, {rows, {late}});
  for (const char* name : {"before", "after"}) {
    const Ran ran = run({"collect", folder / name, "--json"});
    CHECK(ran.code == 0);
    CHECK(Json::parse(ran.out)["statuses"]["ok"] == 2);
  }
  CHECK(content_of(folder / "before/results.csv") == content_of(folder / "after/results.csv"));
}

TEST_CASE("collect: torn lines are left out with a warning, in the middle and at the end") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(4);
  const std::vector<Row> rows = sample_rows(manifest);
  const std::string whole = to_line(rows[2]);
  write_study(folder / "middle", manifest, {{rows[0]}});
  append_to_shard(folder / "middle/shards/test.1.jsonl", whole.substr(0, 40) + '\n' + to_line(rows[1]) + '\n');
  write_study(folder / "end", manifest, {{rows[0], rows[1]}});
  append_to_shard(folder / "end/shards/test.1.jsonl", whole.substr(0, whole.size() / 2));
  for (const char* name : {"middle", "end"}) {
    const Ran ran = run({"collect", folder / name});
    CHECK(ran.code == 0);
    CHECK(ran.out.find("2 of 4 cells have rows") != std::string::npos);
    CHECK(ran.err.starts_with("stagecraft: warning: " + folder / name +
                              "/shards/test.1.jsonl has lines that are not rows"));
    CHECK(Json::parse(run({"collect", folder / name, "--json"}).out)["warnings"].size() == 1);
  }
  CHECK(content_of(folder / "middle/results.csv") == content_of(folder / "end/results.csv"));
}

TEST_CASE("collect: two results of one cell are a bug of ours, and nothing is written") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(2);
  std::vector<Row> rows = sample_rows(manifest);
  write_study(folder / "d", manifest, {rows});
  rows[1].figures[0].second = 17.0;
  write_study(folder / "e", manifest, {{rows[1]}});
  const Ran ran = run({"collect", folder / "d", folder / "e"});
  CHECK(ran.code == 1);
  CHECK(ran.err.find(rows[1].key) != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "d/results.csv"));
  CHECK_FALSE(std::filesystem::exists(folder / "d/results.sqlite"));
}

TEST_CASE("collect: folders of other studies are neither read nor overwritten") {
  const ScratchFolder folder;
  const Manifest manifest = sample_manifest(2);
  Manifest other = manifest;
  other.cells[1].key = other.cells[0].key;
  write_study(folder / "d", manifest, {sample_rows(manifest)});
  write_study(folder / "other", other, {});
  CHECK(run({"collect", folder / "d", folder / "other"}).code == 2);
  const Ran over = run({"collect", folder / "d", "-o", folder / "other"});
  CHECK(over.code == 2);
  CHECK(over.err.find("another study") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder / "other/results.csv"));
  CHECK(run({"collect", folder / "none"}).code == 2);
  CHECK(run({"collect", folder.path.string()}).code == 2);
}

TEST_CASE("collect: names of every kind reach neither a shell nor another folder") {
  const ScratchFolder folder;
  for (const std::string& name : hostile_texts()) {
    CAPTURE(name);
    Manifest manifest = sample_manifest(2);
    manifest.study = name;
    manifest.cells[0].cell.keys.emplace_back("label", name);
    write_study(folder / "d", manifest, {sample_rows(manifest)});
    const Ran ran = run({"collect", folder / "d", "--json"});
    CHECK(ran.code == 0);
    CHECK(Json::parse(ran.out)["study"] == name);
    CHECK(query_one(folder / "d/results.sqlite", "SELECT label FROM results WHERE cell = 0") == name);
    const Ran text = run({"collect", folder / "d"});
    CHECK(text.out.find('\r') == std::string::npos);
    const auto entries = std::filesystem::directory_iterator(folder.path);
    CHECK(std::distance(begin(entries), end(entries)) == 1);
    std::filesystem::remove_all(folder / "d");
  }
}

TEST_CASE("collect: cells in words") {
  CHECK(ranges_text({}).empty());
  CHECK(ranges_text({4}) == "4");
  CHECK(ranges_text({1, 2}) == "1, 2");
  CHECK(ranges_text({1, 2, 3, 7, 9, 10}) == "1 to 3, 7, 9, 10");
  CHECK(ranges_text({1, 3, 5, 6, 9}, 2) == "1, 3 and 3 more");
  CHECK(ranges_text({1, 3}, 2) == "1, 3");
}

}  // namespace
}  // namespace stagecraft
