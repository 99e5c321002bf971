#include "experiments/commands/import_log.hpp"

#include "experiments/measured/logged_step.hpp"
#include "experiments/measured/measured_steps.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUsualWarmup = 10;
constexpr std::int64_t kMostWarmup = 1'000'000'000;

/// A name that a table can have: as it is, or relative to the folder of the table if it is that of a file.
std::string name_in_table(const std::string& option, const std::string& text,
                          const std::optional<std::string>& output) {
  std::string name = read_name_option(option, text);
  std::error_code problem;
  if (names_file(output) && fs::is_regular_file(name, problem)) name = path_beside(output, name);
  if (name.find_first_of(",\"#") == std::string::npos) return name;
  throw InputError("expected a name without commas, quotes and '#', which a table cannot have, found " + quote(name),
                   {"", 0, 0, option});
}

/// A row, and what is told of it.
struct ImportedLog {
  LoggedStep step;
  std::string name;
  LoggedTimes times;

  [[nodiscard]] double relative_error() const {
    return times.relative_deviation / std::sqrt(static_cast<double>(times.lines));
  }
};

std::string source_of(const LoggedTimes& times, std::int64_t warmup) {
  return fmt::format("log of Megatron-LM: median of {} behind {} of warm-up; standard deviation {:.3g} %",
                     counted(times.lines, "line"), counted(warmup, "iteration"), 100.0 * times.relative_deviation);
}

MegatronFlags flags_of_log(const LogImport& import, const MegatronLog& log, const std::string& file) {
  if (import.flags) return parse_megatron_flags(read_text_file(*import.flags), *import.flags);
  if (log.arguments) return *log.arguments;
  throw InputError("the log does not begin with the list of arguments", {file, 0, 0, ""},
                   "--flags names a file with the flags of the run");
}

/// Of the rows, all different: those of the files without folder and extension, or their paths as given if two of those
/// are the same.
std::vector<std::string> names_of_logs(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(file_stem(file));
  if (std::set(names.begin(), names.end()).size() != files.size()) names = files;
  std::set<std::string> found;
  for (std::string& name : names) {
    name = name_in_table("FILE", name, std::nullopt);
    if (!found.insert(name).second)
      throw InputError("expected each log once, found " + quote(name) + " again", {"", 0, 0, "FILE"});
  }
  return names;
}

ImportedLog import_one_log(const LogImport& import, const std::string& file, const std::string& name,
                           std::int64_t warmup) {
  const MegatronLog log = parse_megatron_log(read_text_file(file), file);
  ImportedLog imported;
  imported.times = measured_times(log, warmup);
  imported.name = name;
  const LoggedNames names{imported.name, name_in_table("--model", import.model, import.output), import.model,
                          import.platform ? name_in_table("--platform", *import.platform, import.output) : "",
                          source_of(imported.times, warmup)};
  imported.step = logged_step(flags_of_log(import, log, file), log, imported.times, names);
  return imported;
}

Detail record_of(const ImportedLog& log) {
  Detail::Record fields;
  for (std::size_t i = 0; i < log.step.fields.size(); ++i) fields.emplace_back(logged_columns()[i], log.step.fields[i]);
  return Detail::Record{{"iteration_time_s", log.times.median.value()},
                        {"lines", log.times.lines},
                        {"relative_standard_deviation", log.times.relative_deviation},
                        {"relative_standard_error", log.relative_error()},
                        {"row", std::move(fields)}};
}

std::string table_of(const std::vector<ImportedLog>& logs) {
  std::string table = fmt::format("{}\n", fmt::join(logged_columns(), ","));
  for (const ImportedLog& log : logs) table += fmt::format("{}\n", fmt::join(log.step.fields, ","));
  return table;
}

std::string summary_line(const ImportedLog& log) {
  return fmt::format("{}: {} in an iteration, median of {}; standard error of the mean {:.2g} %\n", log.name,
                     format_human_seconds(log.times.median), counted(log.times.lines, "line"),
                     100.0 * log.relative_error());
}

/// Says what is told of the rows, each once.
void tell_notes(const std::vector<ImportedLog>& logs, const Settings& settings) {
  std::set<std::string> told;
  for (const ImportedLog& log : logs) {
    for (const std::string& note : log.step.notes) {
      if (told.insert(note).second) settings.say("note: " + note);
    }
  }
}

}  // namespace

Answer import_megatron_log(const LogImport& import, const Settings& settings) {
  std::vector<std::string> files_read = import.files;
  if (import.flags) files_read.push_back(*import.flags);
  refuse_overwriting(import.output, OutputKind::StepTable, files_read);
  const std::int64_t warmup = read_count_option("--warmup", import.warmup, 0, kMostWarmup).value_or(kUsualWarmup);
  const std::vector<std::string> names = names_of_logs(import.files);
  std::vector<ImportedLog> logs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    logs.push_back(import_one_log(import, import.files[i], names[i], warmup));
  }
  tell_notes(logs, settings);
  const std::string table = table_of(logs);
  static_cast<void>(parse_measured_steps(table, import.output.value_or("-")));
  Detail::Record record;
  if (names_file(import.output)) record.emplace_back("file", *import.output);
  Detail::List steps;
  for (const ImportedLog& log : logs) steps.push_back(record_of(log));
  record.emplace_back("steps", std::move(steps));
  if (!names_file(import.output)) return {.text = table, .json = to_json(record)};
  write_file_atomically(*import.output, table);
  std::string text;
  for (const ImportedLog& log : logs) text += summary_line(log);
  return {.text = text + "written to " + *import.output + "\n", .json = to_json(record)};
}

}  // namespace stagecraft
