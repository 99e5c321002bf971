#include "experiments/study/slurm_study.hpp"

#include "experiments/run/written_file.hpp"
#include "experiments/study/run_cell.hpp"
#include "experiments/study/shard.hpp"
#include "experiments/study/study_folder.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "sim/io/sha256.hpp"
#include "sim/io/text_file.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

std::string to_text(const SlurmChunks& chunks) {
  Detail::List lists;
  for (const std::vector<std::size_t>& chunk : chunks) {
    Detail::List cells;
    for (const std::size_t cell : chunk) cells.emplace_back(static_cast<std::int64_t>(cell));
    lists.emplace_back(std::move(cells));
  }
  return to_json(lists, -1) + "\n";
}

/// Writes the chunks to a file with a new name, because tasks of an earlier array may still read their own file.
/// Returns its path.
std::string write_chunk_file(const fs::path& folder, const SlurmChunks& chunks) {
  fs::create_directories(folder);
  for (int number = 1;; ++number) {
    const fs::path path = folder / (std::to_string(number) + ".json");
    if (fs::exists(path)) continue;
    write_file_atomically(path.string(), to_text(chunks));
    return path.string();
  }
}

/// Those of `cells` that have no row yet.
std::vector<std::size_t> still_missing(const std::string& folder, const Manifest& manifest,
                                       const std::vector<std::size_t>& cells) {
  const std::vector<std::size_t> all = missing_cells(folder, manifest);
  std::vector<std::size_t> result;
  std::ranges::set_intersection(all, cells, std::back_inserter(result));
  return result;
}

void mark_lost(const std::string& folder, const Manifest& manifest, const std::vector<std::size_t>& lost) {
  if (lost.empty()) return;
  ShardWriter shard(folder, "lost");
  for (const std::size_t cell : lost) {
    shard.append(to_line(failed_row(manifest.cells[cell].key, CellStatus::Crashed, "no task of Slurm finished it")));
  }
}

}  // namespace

void require_slurm() {
  if (slurm_is_there()) return;
  throw InputError("sbatch, squeue and scancel are not in PATH", {"", 0, 0, "--executor slurm"},
                   "run on a machine where jobs are submitted, or use --executor local");
}

bool run_on_slurm(const std::string& folder, const Manifest& manifest, const std::vector<std::size_t>& cells,
                  const SlurmRunChoices& choices) {
  if (cells.empty()) return true;
  const fs::path root = fs::canonical(folder);
  const std::string program = fs::canonical("/proc/self/exe").string();
  SlurmSettings settings;
  settings.options = choices.options;
  settings.folder = fs::current_path().string();
  settings.log_folder = (root / "logs").string();
  settings.cells_per_task = choices.cells_per_task;
  fs::create_directories(settings.log_folder);

  SlurmStudy study;
  study.job_name = slurm_name("stagecraft-" + sha256(root.string()).substr(0, 12) + "-" + manifest.study);
  study.missing = [&] { return still_missing(folder, manifest, cells); };
  study.write_chunk_file = [&](const SlurmChunks& chunks) { return write_chunk_file(root / "chunks", chunks); };
  study.task_command = [&](const std::string& chunk_file) {
    return std::vector<std::string>{program, "worker", root.string(), "--chunks", chunk_file};
  };
  study.on_progress = [&](const SlurmProgress& progress) {
    choices.progress({.total = cells.size(), .done = cells.size() - progress.missing, .failed = 0});
  };
  study.note = choices.say;
  study.stop = choices.should_stop;
  const SlurmOutcome outcome = run_on_slurm(study, settings);
  mark_lost(folder, manifest, outcome.lost);
  return !outcome.stopped;
}

SlurmChunks read_chunk_file(const std::string& path, std::size_t cell_count) {
  const auto fail = [&] {
    throw InputError("expected lists of cells as stagecraft run writes them", {path, 0, 0, ""});
  };
  const std::optional<Detail> document = from_json(read_text_file(path));
  const auto* lists = document ? std::get_if<Detail::List>(&document->value) : nullptr;
  if (lists == nullptr || lists->empty()) fail();
  SlurmChunks chunks;
  for (const Detail& list : *lists) {
    const auto* cells = std::get_if<Detail::List>(&list.value);
    if (cells == nullptr) fail();
    std::vector<std::size_t>& chunk = chunks.emplace_back();
    for (const Detail& cell : *cells) {
      const auto* index = std::get_if<std::int64_t>(&cell.value);
      if (index == nullptr || *index < 0 || std::cmp_greater_equal(*index, cell_count)) fail();
      chunk.push_back(static_cast<std::size_t>(*index));
    }
  }
  return chunks;
}

}  // namespace stagecraft
