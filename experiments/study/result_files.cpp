#include "experiments/study/result_files.hpp"

#include "experiments/run/written_file.hpp"
#include "experiments/study/csv.hpp"
#include "experiments/study/database.hpp"
#include "experiments/study/result_table.hpp"
#include "sim/base/error.hpp"

#include <filesystem>
#include <system_error>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

std::string in_folder(const std::string& folder, const char* name) { return (fs::path(folder) / name).string(); }

/// The head of the manifest without the entries that may differ between equal results: the command, and paths of files.
ResultTable study_table(const Manifest& manifest) {
  Detail::List files;
  for (const StudyFile& file : manifest.files) {
    files.emplace_back(Detail::Record{{"kind", file.kind}, {"name", file.name}, {"sha256", file.sha256}});
  }
  const Bytes* memory = manifest.limits.memory ? &*manifest.limits.memory : nullptr;
  const std::vector<std::vector<Detail>> rows = {
      {"study", manifest.study},
      {"version", manifest.version},
      {"simgrid_version", manifest.simgrid_version},
      {"cells", static_cast<std::int64_t>(manifest.cells.size())},
      {"limit_time_s", manifest.limits.time.value()},
      {"limit_memory_bytes", memory == nullptr ? Detail() : Detail(memory->value())},
      {"limit_retries", manifest.limits.retries},
      {"baseline", manifest.baseline ? Detail(*manifest.baseline) : Detail()},
      {"files", std::move(files)}};
  return {.columns = {{"name", ColumnType::Text}, {"value", ColumnType::Any}},
          .row_count = rows.size(),
          .row = [rows](std::size_t i) { return rows[i]; }};
}

}  // namespace

std::vector<std::string> result_files(const std::string& folder) {
  return {in_folder(folder, "results.csv"), in_folder(folder, "results.sqlite"), in_folder(folder, "timings.csv")};
}

void write_results(const std::string& folder, const Results& results) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) throw InputError("cannot be created: " + problem.message(), {folder, 0, 0, ""});
  const std::vector<std::string> files = result_files(folder);
  const ResultTable table = result_table(results);
  const std::string csv = to_csv(table);
  write_database(files[1], {{.name = "results", .content = table, .primary_key = "key"},
                            {.name = "study", .content = study_table(results.manifest), .primary_key = "name"}});
  write_file_atomically(files[0], csv);
  write_file_atomically(files[2], to_csv(timing_table(results)));
}

}  // namespace stagecraft
