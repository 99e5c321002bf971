#include "experiments/commands/add_option.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/option_text.hpp"
#include "experiments/study/cell_inputs.hpp"
#include "experiments/study/limits.hpp"
#include "experiments/study/local_executor.hpp"
#include "experiments/study/slurm_study.hpp"
#include "experiments/study/study_folder.hpp"
#include "sim/base/counted.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>

namespace stagecraft {
namespace {

struct WorkerOptions {
  std::string folder;
  std::string chunks;
  std::optional<std::string> chunk;
};

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no threads
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The start of the shard's name. It names the Slurm job, task and restart, so that a reader can tell attempts apart.
std::string shard_prefix() {
  const std::string job = variable("SLURM_ARRAY_JOB_ID").value_or("");
  if (job.empty()) return "worker";
  return "slurm-" + job + "-" + variable("SLURM_ARRAY_TASK_ID").value_or("") + "-" +
         variable("SLURM_RESTART_COUNT").value_or("0");
}

Answer answer_worker(const WorkerOptions& options, const Settings&) {
  const Manifest manifest = read_manifest(options.folder);
  const SlurmChunks chunks = read_chunk_file(options.chunks, manifest.cells.size());
  const std::string number = options.chunk ? *options.chunk : variable("SLURM_ARRAY_TASK_ID").value_or("");
  const auto chunk = static_cast<std::size_t>(
      read_count_option("--chunk", number, 0, std::max<std::int64_t>(0, std::ssize(chunks) - 1)));
  check_files(manifest);
  std::vector<std::size_t> missing = missing_cells(options.folder, manifest);
  std::erase_if(missing,
                [&](std::size_t cell) { return std::ranges::find(chunks[chunk], cell) == chunks[chunk].end(); });
  for (const std::size_t cell : missing) {
    if (is_intact(manifest, cell)) continue;
    throw InputError("cell " + std::to_string(cell) + " does not match its key",
                     {manifest_path(options.folder), static_cast<int>(cell) + 2, 0, ""},
                     "start the study again with another --out");
  }
  LocalChoices choices;
  choices.workers = static_cast<int>(read_count_option(
      "SLURM_CPUS_PER_TASK", variable("SLURM_CPUS_PER_TASK").value_or("1"), 1, study_limits::kMostWorkers));
  choices.shard_prefix = shard_prefix();
  static_cast<void>(run_locally(options.folder, manifest, missing, choices));
  return {.text = counted(missing.size(), "cell") + "\n",
          .json = "{\"cells\": " + std::to_string(missing.size()) + "}"};
}

VerbAction configure_worker(CLI::App& command) {
  auto options = std::make_shared<WorkerOptions>();
  add_required(command, "FOLDER", options->folder, "folder with a study's results");
  add_required(command, "--chunks", options->chunks, "file with the chunks (lists of cells), as run writes it");
  add_option(command, "--chunk", options->chunk, "number of the chunk, from 0; default: SLURM_ARRAY_TASK_ID");
  return [options](const Settings& settings) { return answer_worker(*options, settings); };
}

}  // namespace

const Verb worker_verb{
    .name = "worker",
    .summary = "compute one chunk of a study's cells; run starts it on other machines",
    .configure = configure_worker,
};

}  // namespace stagecraft
