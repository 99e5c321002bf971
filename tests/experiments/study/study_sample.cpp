#include "tests/experiments/study/study_sample.hpp"

#include "experiments/study/shard.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace stagecraft {

namespace fs = std::filesystem;

std::string content_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::vector<std::string>& hostile_texts() {
  static const std::vector<std::string> texts = {"a,b",
                                                 R"(says "yes")",
                                                 "'single'",
                                                 "two\nlines",
                                                 "\r\n",
                                                 "$(touch /tmp/owned)",
                                                 "../../etc/passwd",
                                                 R"("; DROP TABLE results;--)",
                                                 "'); DELETE FROM results;--",
                                                 "=1+1",
                                                 "+1",
                                                 "-1",
                                                 "@SUM(A1)",
                                                 "0012",
                                                 "1e400",
                                                 " blanks ",
                                                 "tab\there",
                                                 "grün → 東京",
                                                 "null",
                                                 "[1]",
                                                 std::string("zero\0byte", 9)};
  return texts;
}

Manifest sample_manifest(std::size_t count) {
  const std::array<const char*, 3> planners = {"pipedream", "spp", "uniform"};
  Manifest manifest;
  manifest.study = "sample";
  manifest.file = "sample.yaml";
  manifest.version = "0.1.0";
  manifest.simgrid_version = "3.32";
  manifest.command = {"run", "sample.yaml"};
  manifest.files = {{"model", "vgg16", "/somewhere/vgg16.yaml", sha256("a model")}};
  for (std::size_t i = 0; i < count; ++i) {
    Cell cell{{{"model", "vgg16"},
               {"platform", "p3.8xlarge-x4"},
               {"planner", planners[i % 3]},
               {"microbatches", static_cast<std::int64_t>(4 + i)}},
              1 + i % 2};
    if (i % 3 == 0) cell.keys.emplace_back("pipedream.straight", i % 2 == 0);
    if (i % 3 == 1) cell.keys.emplace_back("spp.duplex", "half");
    manifest.cells.push_back({std::move(cell), sha256("cell " + std::to_string(i))});
  }
  return manifest;
}

Row sample_row(const Manifest& manifest, std::size_t index) {
  Row row{manifest.cells[index].key, CellStatus::Ok, "", {}, {{"planning_time_s", 0.25}, {"wall_time_s", 0.5}}};
  if (index % 7 == 6) {
    row.status = CellStatus::Infeasible;
    row.message = "stage 0 needs 3 B more";
    row.figures = {{"smallest_memory_bytes", std::int64_t{1} << 40}};
    return row;
  }
  if (index % 11 == 10) row.status = CellStatus::OutOfMemory;
  row.figures = {{"iteration_time_s", 0.1 + static_cast<double>(index)},
                 {"bubble_ratio", 1.0 / 3.0},
                 {"peak_memory_bytes", std::int64_t{12025908428}},
                 {"stages", 4},
                 {"configuration", "2-1-1"},
                 {"device_peak_memory_bytes", Detail::Record{{"gpu0", 12}, {"gpu1", 11}}},
                 {"details", Detail::Record{{"states", 7}, {"note", "a \"quoted\", one"}}}};
  return row;
}

std::vector<Row> sample_rows(const Manifest& manifest) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < manifest.cells.size(); ++i) rows.push_back(sample_row(manifest, i));
  return rows;
}

void write_study(const std::string& folder, const Manifest& manifest, const std::vector<std::vector<Row>>& shards) {
  fs::create_directories(folder);
  write_text_file(manifest_path(folder), whole(to_text(manifest)));
  for (const std::vector<Row>& rows : shards) {
    ShardWriter writer(folder, "test");
    for (const Row& row : rows) writer.append(to_line(row));
  }
}

}  // namespace stagecraft
