#include "experiments/commands/add_option.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/run/written_file.hpp"
#include "experiments/study/column_warnings.hpp"
#include "experiments/study/limits.hpp"
#include "experiments/study/result_files.hpp"
#include "experiments/study/results.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/study_report/cell_timelines.hpp"
#include "experiments/study_report/planning_times.hpp"
#include "experiments/study_report/study_picture.hpp"
#include "experiments/study_report/study_report.hpp"
#include "experiments/study_report/summary.hpp"
#include "experiments/view/document.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <fmt/core.h>

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
  std::optional<std::string> timelines;
  bool planning_times = false;
};

/// What a report shows.
struct Shown {
  const StudySummary& summary;
  std::vector<PlanningTimes> times;
  Detail::List timelines;

  [[nodiscard]] Document document() const { return study_document(summary, times); }
};

using Writer = std::string (*)(const Shown& shown);

/// The writers of reports, by the extension of the file.
const std::map<std::string, Writer>& writers() {
  static const std::map<std::string, Writer> table = {
      {".csv", [](const Shown& shown) { return study_csv(shown.summary); }},
      {".html", [](const Shown& shown) { return study_page(shown.summary, shown.times, shown.timelines); }},
      {".md", [](const Shown& shown) { return to_markdown(shown.document()); }},
      {".svg", [](const Shown& shown) { return study_picture(shown.summary); }},
      {".txt", [](const Shown& shown) { return to_text(shown.document()); }},
  };
  return table;
}

Writer find_writer(const std::string& path) {
  const auto found = writers().find(std::filesystem::path(path).extension().string());
  if (found != writers().end()) return found->second;
  throw InputError("expected a name that ends in .txt, .md, .html, .csv or .svg, found " + quote(path),
                   {"", 0, 0, "--output"}, "--json prints the data of the report as JSON");
}

/// The cells of `--timelines`: their numbers in results.csv.
std::vector<std::size_t> read_timelines(const std::optional<std::string>& text, bool is_page) {
  if (!text) return {};
  const InputPlace place{"", 0, 0, "--timelines"};
  if (!is_page) throw InputError("only a page shows timelines", place, "name a file that ends in .html with --output");
  const std::size_t comma = text->find(',');
  if (comma == std::string::npos) {
    throw InputError("expected two numbers of cells A,B, found " + quote(*text), place,
                     "the first column of results.csv numbers the cells");
  }
  std::vector<std::size_t> cells;
  for (const std::string& part : {text->substr(0, comma), text->substr(comma + 1)}) {
    cells.push_back(static_cast<std::size_t>(read_count_option("--timelines", part, 0, study_limits::kMostCells)));
  }
  return cells;
}

/// Refuses to write a report over the files of the results.
void refuse_results(const ReportOptions& options) {
  std::vector<std::string> files;
  for (const std::string& folder : options.folders) {
    for (const std::string& file : result_files(folder)) files.push_back(file);
  }
  refuse_overwriting(options.output, OutputKind::StudyReport, files);
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
  const Writer write = names_file(options.output) ? find_writer(*options.output) : writers().at(".txt");
  if (options.planning_times && (write == writers().at(".csv") || write == writers().at(".svg"))) {
    throw InputError("a .csv or .svg file has no planning times", {"", 0, 0, "--planning-times"}, "--json has them");
  }
  const std::vector<std::size_t> cells = read_timelines(options.timelines, write == writers().at(".html"));
  refuse_results(options);
  Results results = load_results(options.folders);
  if (options.study) show_as(*options.study, results.manifest);
  for (const std::string& warning : results.warnings) settings.say("warning: " + warning);
  for (const std::string& warning : column_warnings(results)) settings.say("warning: " + warning);
  const StudySummary summary = summarise_study(results);
  const auto times = settings.timings ? planning_times(results) : std::vector<PlanningTimes>();
  Detail::Record record = study_record(summary);
  if (settings.timings) record.emplace_back("planning_times", planning_time_list(times));
  const Shown shown{summary, options.planning_times ? times : std::vector<PlanningTimes>(),
                    cell_timelines(results, cells)};
  Answer answer{.text = write(shown), .json = to_json(record)};
  if (names_file(options.output)) {
    write_file_atomically(*options.output, answer.text);
    answer.text = fmt::format("{}: the report of {} of {}\n", one_line(*options.output), summary.rows,
                              counted(summary.cells, "cell"));
  }
  return answer;
}

VerbAction configure_report(CLI::App& command) {
  auto options = std::make_shared<ReportOptions>();
  add_required_list(command, "DIR", options->folders, "folders with results of one study");
  add_option(command, "-o,--output", options->output, "write the report to this file: .txt, .md, .html, .csv or .svg");
  add_option(command, "--study", options->study,
             "take baseline, columns and tables from this study file instead of the results");
  add_option(
      command, "--timelines", options->timelines,
      "A,B: on a page, show the runs of these cells on one time axis; numbers as in results.csv. They run again");
  add_flag(command, "--planning-times", options->planning_times,
           "show how long each planner took, which differs from run to run");
  return [options](const Settings& settings) { return answer_report(*options, settings); };
}

}  // namespace

const Verb report_verb{
    .name = "report",
    .summary = "print tables of a study's results: speed-ups, the best of each group, failed cells",
    .configure = configure_report,
    .examples = {"stagecraft report results", "stagecraft report results -o report.html"},
};

}  // namespace stagecraft
