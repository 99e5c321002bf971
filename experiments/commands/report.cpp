#include "experiments/commands/add_option.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/study/result_files.hpp"
#include "experiments/study/results.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/study_report/study_report.hpp"
#include "experiments/study_report/summary.hpp"
#include "experiments/view/document.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

struct ReportOptions {
  std::vector<std::string> folders;
  std::optional<std::string> output;
  std::optional<std::string> study;
};

using Writer = std::string (*)(const StudySummary& summary);

/// The writers of reports, by the extension of the file.
const std::map<std::string, Writer>& writers() {
  static const std::map<std::string, Writer> table = {
      {".csv", [](const StudySummary& summary) { return study_csv(summary); }},
      {".html", [](const StudySummary& summary) { return to_html(study_document(summary)); }},
      {".md", [](const StudySummary& summary) { return to_markdown(study_document(summary)); }},
      {".txt", [](const StudySummary& summary) { return to_text(study_document(summary)); }},
  };
  return table;
}

Writer find_writer(const std::string& path) {
  const auto found = writers().find(std::filesystem::path(path).extension().string());
  if (found != writers().end()) return found->second;
  throw InputError("expected a name that ends in .txt, .md, .html or .csv, found " + quote(path),
                   {"", 0, 0, "--output"}, "--json prints the data of the report as JSON");
}

/// Refuses to write a report over the files of the results.
void refuse_results(const ReportOptions& options) {
  std::vector<std::string> files;
  for (const std::string& folder : options.folders) {
    for (const std::string& file : result_files(folder)) files.push_back(file);
  }
  refuse_overwriting(options.output, files);
}

/// Takes baseline, columns and tables from the study file as it is now, in place of those stored in the manifest.
void show_as(const std::string& name, Manifest& manifest) {
  const std::string path = find_input(name, InputKind::Study);
  Study study = parse_study(read_text_file(path), path);
  manifest.baseline = std::move(study.baseline);
  manifest.columns = std::move(study.columns);
  manifest.tables = std::move(study.tables);
}

Answer answer_report(const ReportOptions& options, const Settings& settings) {
  const Writer write = options.output ? find_writer(*options.output) : writers().at(".txt");
  refuse_results(options);
  Results results = load_results(options.folders);
  if (options.study) show_as(*options.study, results.manifest);
  for (const std::string& warning : results.warnings) settings.say("warning: " + warning);
  const StudySummary summary = summarise_study(results);
  Answer answer{.text = write(summary), .json = to_json(study_record(summary))};
  if (options.output) {
    write_file_atomically(*options.output, answer.text);
    answer.text = one_line(*options.output) + ": the report of " + std::to_string(summary.rows) + " of " +
                  counted(summary.cells, "cell") + "\n";
  }
  return answer;
}

VerbAction configure_report(CLI::App& command) {
  auto options = std::make_shared<ReportOptions>();
  add_required_list(command, "DIR", options->folders, "folders with results of one study");
  add_option(command, "-o,--output", options->output, "write the report to this file: .txt, .md, .html or .csv");
  add_option(command, "--study", options->study,
             "take baseline, columns and tables from this study file instead of the results");
  return [options](const Settings& settings) { return answer_report(*options, settings); };
}

}  // namespace

const Verb report_verb{
    .name = "report",
    .summary = "print tables of a study's results: speed-ups, the best of each group, failed cells",
    .configure = configure_report,
};

}  // namespace stagecraft
