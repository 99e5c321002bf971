#pragma once

#include "experiments/study/local_executor.hpp"
#include "experiments/study/manifest.hpp"
#include "experiments/study/slurm_executor.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace stagecraft {

struct SlurmRunChoices {
  std::vector<std::string> options;  ///< of `sbatch`
  std::size_t cells_per_task = 50;
  std::function<void(const StudyProgress&)> progress;
  std::function<void(const std::string&)> say;
  std::function<bool()> should_stop;
};

/// **Throws** InputError if there is no Slurm.
void require_slurm();

/// Runs cells of a study as job arrays of Slurm, whose tasks run `stagecraft worker`. Cells that no task finished get
/// `crashed` rows. Returns false if it was told to stop; the rows written so far are kept.
/// **Throws** InputError as the `run_on_slurm` of `slurm_executor.hpp`.
[[nodiscard]] bool run_on_slurm(const std::string& folder, const Manifest& manifest,
                                const std::vector<std::size_t>& cells, const SlurmRunChoices& choices);

/// The chunks of a file that `run_on_slurm` wrote.
/// **Throws** InputError for anything else, and for cells that a study of `cell_count` cells does not have.
[[nodiscard]] SlurmChunks read_chunk_file(const std::string& path, std::size_t cell_count);

}  // namespace stagecraft
