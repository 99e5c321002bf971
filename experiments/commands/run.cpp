#include "experiments/commands/add_option.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/inputs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/study/column_warnings.hpp"
#include "experiments/study/door_check.hpp"
#include "experiments/study/limits.hpp"
#include "experiments/study/run_study.hpp"
#include "experiments/study/slurm.hpp"
#include "experiments/study/study_file.hpp"
#include "experiments/study/study_folder.hpp"
#include "experiments/study_report/study_text.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <algorithm>
#include <memory>
#include <thread>

namespace stagecraft {
namespace {

struct RunOptions {
  std::string study;
  std::optional<std::string> out;
  std::optional<std::string> workers;
  std::string executor = "local";
  std::optional<std::string> shard;
  std::vector<std::string> sbatch;
  std::optional<std::string> cells_per_task;
  std::vector<std::string> set;
  std::vector<std::string> filters;
  bool resume = false;
  bool dry_run = false;
};

ShardChoice read_shard(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw InputError("expected I/N, such as 1/4, found " + quote(text), {"", 0, 0, "--shard"});
  }
  const std::int64_t parts = read_count_option("--shard", text.substr(slash + 1), 1, study_limits::kMostParts);
  const std::int64_t part = read_count_option("--shard", text.substr(0, slash), 1, parts);
  return {static_cast<std::size_t>(part), static_cast<std::size_t>(parts)};
}

int default_workers() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

RunChoices read_choices(const RunOptions& options, const std::string& study_name) {
  RunChoices choices;
  choices.folder = options.out.value_or(default_folder(study_name));
  if (choices.folder.empty()) throw InputError("expected a folder, found nothing", {"", 0, 0, "--out"});
  choices.resume = options.resume;
  if (read_choice_option("--executor", options.executor, {"local", "slurm"}) == "slurm") {
    choices.executor = ExecutorChoice::Slurm;
  } else if (!options.sbatch.empty() || options.cells_per_task) {
    throw InputError("applies to --executor slurm only",
                     {"", 0, 0, options.sbatch.empty() ? "--cells-per-task" : "--sbatch"});
  }
  if (choices.executor == ExecutorChoice::Slurm && options.workers) {
    throw InputError("applies to --executor local only", {"", 0, 0, "--workers"},
                     "with Slurm, --sbatch=--cpus-per-task=N sets how many cells a task computes at a time");
  }
  check_sbatch_options(options.sbatch);
  choices.sbatch = options.sbatch;
  choices.cells_per_task = static_cast<std::size_t>(
      read_count_option("--cells-per-task", options.cells_per_task, 1, study_limits::kMostParts).value_or(50));
  choices.workers = static_cast<int>(
      read_count_option("--workers", options.workers, 1, study_limits::kMostWorkers).value_or(default_workers()));
  if (options.shard) choices.shard = read_shard(*options.shard);
  for (const std::string& text : options.filters) choices.filters.push_back(parse_filter(text));
  return choices;
}

/// Refuses filters that no cell passes: either a value is mistyped, or the study has changed.
void check_filters(const Expansion& expansion, const RunChoices& choices) {
  const auto wanted = [&](const Cell& cell) { return is_wanted(cell.keys, choices.filters); };
  if (std::ranges::any_of(expansion.cells, wanted)) return;
  for (const Keys& filter : choices.filters) {
    const auto taken = [&](const Cell& cell) { return matches(cell.keys, filter); };
    if (std::ranges::any_of(expansion.cells, taken)) continue;
    throw InputError("no cell of the study has " + to_json(filter, -1), {"", 0, 0, "--filter"},
                     "--dry-run shows the values of each key");
  }
  throw InputError("no cell of the study passes all filters", {"", 0, 0, "--filter"}, "--dry-run shows the cells");
}

/// Refuses jobs of Slurm for a study that names texts of a request: they would not have them.
void refuse_given_files(const Manifest& manifest) {
  for (const StudyFile& file : manifest.files) {
    if (GivenFiles::find(file.path) == nullptr) continue;
    throw InputError("is no file, so that jobs of Slurm cannot read it", {file.path, 0, 0, ""},
                     "write it to a file, and name that in the study");
  }
}

std::vector<std::string> command_of(const RunOptions& options) {
  std::vector<std::string> command{"stagecraft", "run", options.study};
  if (options.executor != "local") command.insert(command.end(), {"--executor", options.executor});
  for (const std::string& text : options.set) command.insert(command.end(), {"--set", text});
  return command;
}

/// The command that continues an interrupted run: the same command with --resume, into the same folder.
std::string resuming_command(const RunOptions& options, const RunChoices& choices) {
  std::vector<std::string> command = command_of(options);
  const auto add = [&](const std::string& name, const std::optional<std::string>& value) {
    if (value) command.insert(command.end(), {name, *value});
  };
  for (const std::string& text : options.sbatch) command.push_back("--sbatch=" + text);
  for (const std::string& text : options.filters) add("--filter", text);
  add("--cells-per-task", options.cells_per_task);
  add("--shard", options.shard);
  add("--workers", options.workers);
  add("--out", choices.folder);
  command.emplace_back("--resume");
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : " ") + shown_word(word);
  return text;
}

/// The cells that the filters leave, whatever the shard.
std::vector<std::size_t> wanted_cells(const Manifest& manifest, const RunChoices& choices) {
  std::vector<std::size_t> cells;
  for (std::size_t i = 0; i < manifest.cells.size(); ++i) {
    if (is_wanted(manifest.cells[i].cell.keys, choices.filters)) cells.push_back(i);
  }
  return cells;
}

/// Refuses what makes all cells invalid. If it is a value of `--set`, the error names the option.
void refuse_common_problem(const Study& study, const Manifest& manifest, const RunChoices& choices) {
  try {
    refuse_common_problem(manifest, wanted_cells(manifest, choices));
  } catch (const InputError& error) {
    const std::string& key = error.place().key;
    if (find_key(study.fixed, key) == nullptr) throw;
    throw InputError(error.message(), {"", 0, 0, "--set " + key}, error.hint());
  }
}

Answer answer_dry_run(const Manifest& manifest, const Expansion& expansion, const RunChoices& choices,
                      const Settings& settings) {
  DryRun run{.manifest = manifest, .repeated = expansion.repeated, .cells = {}, .workers = choices.workers, .cell = {}};
  for (const std::size_t i : wanted_cells(manifest, choices)) {
    if (!choices.shard || i % choices.shard->parts == choices.shard->part - 1) run.cells.push_back(i);
  }
  const std::optional<Trial> trial = settings.timings ? try_cells(manifest, run.cells) : std::nullopt;
  if (trial) run.cell = trial->cell;
  if (trial && trial->failure) settings.say("warning: in a trial of a few cells, one failed: " + *trial->failure);
  return {.text = dry_run_text(run), .json = to_json(dry_run_record(run))};
}

ExitCode code_of(const StudyRun& run) {
  if (run.is_interrupted) return ExitCode::Interrupted;
  const bool failed =
      std::ranges::any_of(run.results.rows, [](const CellResult& result) { return is_failure(result.row.status); });
  return failed ? ExitCode::FailedRows : ExitCode::Done;
}

Answer answer_run(const RunOptions& options, const Settings& settings) {
  const std::string file = find_input(options.study, InputKind::Study);
  Study study = parse_study(read_text_file(file), file);
  apply_settings(study, options.set);
  const RunChoices choices = read_choices(options, study.name);
  const Expansion expansion = expand(study);
  refuse_unused_settings(study, expansion);
  for (const std::string& warning : expansion.warnings) settings.say("warning: " + options.study + ": " + warning);
  check_filters(expansion, choices);
  const Manifest manifest = make_manifest(study, expansion, command_of(options));
  if (choices.executor == ExecutorChoice::Slurm) refuse_given_files(manifest);
  refuse_common_problem(study, manifest, choices);
  for (const std::string& problem : problems_of_values(manifest, wanted_cells(manifest, choices))) {
    settings.say("warning: cells with this value are invalid: " + problem);
  }
  for (const std::string& remark : remarks_on_models(manifest, wanted_cells(manifest, choices))) {
    settings.say("note: " + remark);
  }
  if (options.dry_run) return answer_dry_run(manifest, expansion, choices, settings);
  const StudyRun run = run_study(manifest, choices, settings);
  for (const std::string& warning : run.results.warnings) settings.say("warning: " + warning);
  for (const std::string& warning : column_warnings(run.results)) settings.say("warning: " + warning);
  return {.text = study_run_text(run, choices, resuming_command(options, choices)),
          .json = to_json(study_run_record(run, choices)),
          .code = code_of(run)};
}

VerbAction configure_run(CLI::App& command) {
  auto options = std::make_shared<RunOptions>();
  add_required(command, "STUDY", options->study, "the study's YAML file, or the name of a shipped study");
  add_option(command, "--out", options->out, "folder for the results; default: stagecraft-results/NAME");
  add_flag(command, "--resume", options->resume, "continue with the results in the folder: compute the missing cells");
  add_option(command, "--workers", options->workers, "cells computed at a time on this machine; default: one per core");
  add_option(command, "--executor", options->executor, "local: processes on this machine; slurm: job arrays of Slurm");
  add_repeated(command, "--sbatch", options->sbatch,
               "an option of sbatch, such as --sbatch=--partition=batch; may be repeated");
  add_option(command, "--cells-per-task", options->cells_per_task,
             "the least number of cells in a task of Slurm; default: 50");
  add_option(command, "--shard", options->shard,
             "I/N: compute only part I of N, counted from 1, and do not merge the results");
  add_set_option(command, options->set, SetUse::Study);
  add_repeated(command, "--filter", options->filters,
               "KEY=VALUE: compute only cells with that value; may be repeated, and several values of one key are "
               "alternatives");
  add_flag(command, "--dry-run", options->dry_run, "show the cells and estimate how long they take; write nothing");
  return [options](const Settings& settings) { return answer_run(*options, settings); };
}

}  // namespace

const Verb run_verb{
    .name = "run",
    .summary = "run a parameter study: every combination that its file describes",
    .configure = configure_run,
    .examples = {"stagecraft run quickstart --dry-run",
                 "stagecraft run quickstart --filter model=bert-large --out results"},
};

}  // namespace stagecraft
