// The tables that the writer of PyTorch made, and those of its own tests.
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/base/error.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "sim/schedule/list_transfers.hpp"
#include "tests/paths.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const fs::path kRecordedSchedules = fs::path(STAGECRAFT_SHARED_DIR) / "reference/schedules";
const fs::path kTables = kRecordedSchedules / "csv";

bool tables_are_here() {
  if (fs::exists(kTables)) return true;
  MESSAGE("skipped: no tables at ", kTables.string());
  return false;
}

std::vector<fs::path> tables() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(kTables)) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

using Fields = std::vector<std::vector<std::string>>;

Fields fields_of(const std::string& text) {
  Fields rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    rows.emplace_back();
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
  }
  return rows;
}

std::string table_of(const Fields& rows) {
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i == 0 ? "" : ",") + row[i];
    text += "\r\n";
  }
  return text;
}

bool is_mark(const std::string& field) { return field.ends_with("SHARD") || field.ends_with("REDUCE_GRAD"); }

/// The table without what PyTorch does around the computations, as follows from the plan.
std::string without_marks(const std::string& text) {
  Fields rows = fields_of(text);
  for (std::vector<std::string>& row : rows) std::erase_if(row, is_mark);
  return table_of(rows);
}

/// The stages as the rows have them, one layer on each; the microbatches as many as the first rank's forwards have.
Plan plan_of_table(const std::string& text) {
  std::map<int, std::size_t> ranks;  // by stage
  std::int64_t microbatches = 0;
  const Fields rows = fields_of(text);
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    for (const std::string& field : rows[rank]) {
      const std::string operation = field.starts_with('(') ? field.substr(1) : field;
      if (operation.empty()) continue;
      std::size_t digits = 0;
      const int stage = std::stoi(operation, &digits);
      ranks[stage] = rank;
      if (stage == 0 && operation[digits] == 'F') ++microbatches;
    }
  }
  Plan plan = testing::straight(ranks.size(), microbatches, "literal");
  for (const auto& [stage, rank] : ranks) plan.stages[static_cast<std::size_t>(stage)].replicas = {DeviceId(rank)};
  return plan;
}

struct ReadTable {
  std::string text;
  Plan plan;
  LayerGraph graph;
  Platform platform;
  explicit ReadTable(const fs::path& path)
      : text(read_text_file(path.string())),
        plan(plan_of_table(text)),
        graph(testing::chain(plan.stages.size(), 1, 2, 8)),
        platform(testing::pairwise(plan.stages.size(), 1e15)) {}
  [[nodiscard]] GivenOrders orders() const { return parse_schedule_csv(text, "f.csv", plan, platform); }
  [[nodiscard]] double iteration_time(Transfers rule) const {
    LowerOptions options;
    options.literal = orders().schedule;
    if (lists_transfers(options.literal->transfers)) options.literal->transfers = rule;
    return evaluate_plan(graph, platform, plan, options).iterations.back().value();
  }
};

bool counts_from_one(const fs::path& path) { return path.filename().string().starts_with("1F1B_"); }

TEST_CASE("PyTorch's tables: orders do the plan's work and are written as they were") {
  if (!tables_are_here()) return;
  std::size_t read = 0;
  for (const fs::path& path : tables()) {
    if (counts_from_one(path)) continue;
    CAPTURE(path.filename().string());
    const ReadTable table(path);
    const GivenOrders orders = table.orders();
    CHECK(check_schedule(table.graph, table.platform, table.plan, orders.schedule, orders.steps) ==
          std::vector<std::string>{});
    std::string expected = without_marks(table.text);
    if (path.filename() == "zb1p_2rank_2stagep_compute_legacy_2024.csv") {
      expected = without_marks(read_text_file((path.parent_path() / "zb1p_2rank_2stagep_compute.csv").string()));
    }
    CHECK(write_schedule_csv(orders, table.plan) == expected);
    ++read;
  }
  CHECK(read == 26);
}

TEST_CASE("PyTorch's tables: the last rank of Schedule1F1B is refused for its numbers") {
  if (!tables_are_here()) return;
  for (const fs::path& path : tables()) {
    if (!counts_from_one(path)) continue;
    CHECK_THROWS_WITH_AS(static_cast<void>(ReadTable(path).orders()),
                         doctest::Contains("expected microbatches counted from 0, but the forwards of stage"),
                         InputError);
  }
}

/// The recorded time of the same class for unit times without latency.
double recorded_time(const std::string& name, std::size_t devices, std::int64_t microbatches) {
  static const std::map<std::string, const char*> kFiles = {{"GPipe", "gpipe.json"},
                                                            {"LoopedBFS", "looped_bfs.json"},
                                                            {"Interleaved1F1B", "interleaved_1f1b.json"},
                                                            {"InterleavedZeroBubble", "interleaved_zb1p.json"},
                                                            {"ZBVZeroBubble", "zb_v.json"},
                                                            {"DualPipeV", "dualpipev.json"}};
  std::ifstream in(kRecordedSchedules / kFiles.at(name));
  const json document = json::parse(in);
  const json& entries = document.is_array() ? document : document.at("entries");
  const json unit = {{"tF", 1}, {"tB", 1}, {"tW", 1}, {"tC", 0}};
  const std::int64_t chunks = name == "GPipe" ? 1 : 2;
  for (const json& record : entries) {
    if (record.contains("error") || record.at("p") != devices || record.at("m") != microbatches) continue;
    if (!record.at("tool").get<std::string>().starts_with("torch.")) continue;
    if (record.value("chunks_per_device", std::int64_t{1}) != chunks || record.at("times") != unit) continue;
    return record.at("iteration_time").get<double>();
  }
  FAIL("no record of " << name);
  return 0.0;
}

TEST_CASE("PyTorch's tables: runs take the recorded times, also with sends and receives where they stand") {
  if (!tables_are_here()) return;
  std::size_t compared = 0;
  for (const fs::path& path : tables()) {
    const std::string file = path.filename().string();
    if (counts_from_one(path) || path.parent_path() != kTables) continue;
    CAPTURE(file);
    const ReadTable table(path);
    const double expected =
        recorded_time(file.substr(0, file.find("_p")), fields_of(table.text).size(), table.plan.microbatches);
    CHECK(table.iteration_time(Transfers::Explicit) == doctest::Approx(expected).epsilon(1e-9));
    CHECK(table.iteration_time(Transfers::Stream) >= expected - 1e-9);
    ++compared;
  }
  CHECK(compared == 22);
}

TEST_CASE("PyTorch's tables: sends and receives are added where PyTorch adds them") {
  if (!tables_are_here()) return;
  std::size_t compared = 0;
  for (const fs::path& path : tables()) {
    const std::string file = path.filename().string();
    const std::size_t flavour = file.find("_compute_only.csv");
    if (flavour == std::string::npos) continue;
    CAPTURE(file);
    const ReadTable table(path);
    GivenOrders orders = table.orders();
    orders.schedule = with_transfers(table.graph, table.plan, std::move(orders.schedule), Transfers::Stream);
    orders.steps.clear();
    const fs::path listed = path.parent_path() / (file.substr(0, flavour) + "_compute_comms.csv");
    CHECK(write_schedule_csv(orders, table.plan) == without_marks(read_text_file(listed.string())));
    ++compared;
  }
  CHECK(compared == 10);
}

TEST_CASE("PyTorch's tables: the dialects are one order") {
  if (!tables_are_here()) return;
  const ReadTable current(kTables / "upstream/zb1p_2rank_2stagep_compute.csv");
  const ReadTable legacy(kTables / "upstream/zb1p_2rank_2stagep_compute_legacy_2024.csv");
  CHECK(legacy.orders() == current.orders());
}

}  // namespace
}  // namespace stagecraft
