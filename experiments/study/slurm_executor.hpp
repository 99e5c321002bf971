#pragma once

#include "experiments/study/slurm.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The cells that each task of an array computes.
using SlurmChunks = std::vector<std::vector<std::size_t>>;

/// The progress of a study.
struct SlurmProgress {
  std::size_t missing = 0;  ///< cells without a row
  std::size_t running = 0;  ///< tasks
  std::size_t waiting = 0;  ///< tasks
  std::string reason = {};  ///< why the first waiting task waits, in Slurm's words
  friend bool operator==(const SlurmProgress&, const SlurmProgress&) = default;
};

/// The study as the executor sees it. Only rows tell which cells are done.
struct SlurmStudy {
  /// Identifies the study and its output folder. Arrays of this name in the queue are taken to belong to this study.
  std::string job_name;
  std::function<std::vector<std::size_t>()> missing;                ///< the cells without a row, ascending
  std::function<std::string(const SlurmChunks&)> write_chunk_file;  ///< writes a new file and returns its path
  /// The command line of every task of an array. A task computes the chunk of number `SLURM_ARRAY_TASK_ID`, from 0.
  std::function<std::vector<std::string>(const std::string& chunk_file)> task_command;
  std::function<void(const SlurmProgress&)> on_progress;  ///< after each look at the queue
  std::function<void(const std::string&)> note;           ///< a sentence for the user
  std::function<bool()> stop;                             ///< whether the user wants to stop
};

struct SlurmSettings {
  std::vector<std::string> options = {};  ///< of `sbatch`
  std::string folder = {};                ///< where tasks start; absolute
  std::string log_folder = {};            ///< absolute; exists
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::size_t max_array = 1000;     ///< tasks of one array; fewer if the site allows only fewer
  std::size_t running_limit = 0;    ///< tasks at a time; 0: no limit
  std::size_t cells_per_task = 50;  ///< at least, on the first submission
  double shortest_poll_s = 1;       ///< grows up to the longest while nothing changes
  double longest_poll_s = 15;
  int empty_answers = 2;          ///< in a row before the arrays count as gone
  int fruitless_submissions = 3;  ///< in a row before the missing cells count as lost
  double warn_after_s = 60;       ///< after which a Slurm that does not answer is reported
  double give_up_after_s = 1800;  ///< after which the run ends if Slurm still does not answer
};

/// The executor's calls of Slurm and of the clock. Tests replace them.
struct SlurmCalls {
  std::function<SubmitAnswer(const SlurmSubmission&)> submit = submit_array;
  std::function<QueueAnswer(const SlurmArray&)> query = query_array;
  std::function<QueueAnswer(const std::string& job_name, const std::string& clusters)> find = find_arrays;
  std::function<bool(const SlurmArray&)> cancel = cancel_array;
  std::function<double()> now;        ///< seconds; the default is the system's steady clock
  std::function<void(double)> sleep;  ///< seconds
};

struct SlurmOutcome {
  bool stopped = false;                ///< by the user; the arrays are cancelled
  std::vector<std::size_t> lost = {};  ///< cells that have no row after several submissions
  std::size_t submissions = 0;
};

/// Deals the cells in turn to at most `max_tasks` chunks. Each chunk has at least `least` cells, unless there are fewer
/// cells in all.
[[nodiscard]] SlurmChunks deal_chunks(const std::vector<std::size_t>& cells, std::size_t max_tasks, std::size_t least);

/// Runs cells until each has a row: submits the missing cells as a job array, waits until the array has left the queue,
/// and submits the cells that are still missing again, in smaller chunks. Arrays of the same name that an earlier run
/// left in the queue are waited for first. Slurm is asked only which tasks still wait or run; which cells are done is
/// read from the rows. So the cells of an array that Slurm has forgotten are submitted again, and a queue that cannot
/// be asked does not count as empty.
///
/// **Throws** InputError if `sbatch` refuses the array, or if Slurm does not answer for `give_up_after_s`; rows and
/// arrays are kept, so that the study can be resumed.
[[nodiscard]] SlurmOutcome run_on_slurm(const SlurmStudy& study, const SlurmSettings& settings,
                                        const SlurmCalls& calls = {});

}  // namespace stagecraft
