#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

/// A job array to submit. Tasks are numbered from 0 and find their number in `SLURM_ARRAY_TASK_ID`.
struct SlurmSubmission {
  std::string job_name = {};              ///< see `slurm_name`
  std::size_t task_count = 0;             ///< at least 1
  std::size_t running_limit = 0;          ///< tasks that run at a time; 0: no limit
  int restart_limit = 5;                  ///< a task that was requeued more often than that ends at once
  std::vector<std::string> options = {};  ///< the user's options of `sbatch`; see `check_sbatch_options`
  std::string folder = {};                ///< where tasks start; absolute
  std::string log_folder = {};            ///< one log per task, `<array>_<task>.log`, appended to; absolute
  std::vector<std::pair<std::string, std::string>> environment = {};  ///< set for the command, besides the user's own
  std::vector<std::string> command = {};
};

/// A job array that Slurm has accepted.
struct SlurmArray {
  std::string id;
  std::string cluster = {};  ///< only where several clusters are in use
  friend bool operator==(const SlurmArray&, const SlurmArray&) = default;
};

/// The index of a task whose index is not known.
constexpr std::int64_t kNoIndex = -1;

/// A task that has not ended yet.
struct QueuedTask {
  SlurmArray array;
  std::int64_t index = kNoIndex;
  std::string state;   ///< in Slurm's words: `PENDING`, `RUNNING`, `COMPLETING`, ...
  std::string node;    ///< empty while it waits
  std::string reason;  ///< why it waits, e.g. `Priority`
  friend bool operator==(const QueuedTask&, const QueuedTask&) = default;
};

/// The answer of the queue. If the queue could not be asked, `asked` is false, which is not the same as an empty queue.
struct QueueAnswer {
  bool asked = false;
  std::string problem = {};            ///< why the queue could not be asked
  std::vector<QueuedTask> tasks = {};  ///< tasks that wait or run
  [[nodiscard]] bool is_empty() const { return asked && tasks.empty(); }
};

struct SubmitAnswer {
  std::optional<SlurmArray> array = {};
  bool is_too_large = false;  ///< Slurm accepts only arrays with fewer tasks
  bool may_pass = false;      ///< the controller could not be reached or did not answer; it may have accepted the array
  std::string problem = {};   ///< why there is no array, in the words of `sbatch`
};

/// Whether `sbatch`, `squeue` and `scancel` are in `PATH`.
[[nodiscard]] bool slurm_is_there();

/// `text` as the name of a job: all characters but letters, digits, `.`, `_` and `-` become `_`; at most 100
/// characters.
[[nodiscard]] std::string slurm_name(std::string_view text);

/// The text as `shell_word` has it for messages: without quotes if no shell would change the text.
[[nodiscard]] std::string shown_word(std::string_view text);

/// The script that every task of the array runs.
[[nodiscard]] std::string batch_script(const SlurmSubmission& submission);

/// **Throws** InputError for an option that is not of the form `--name` or `--name=value`, or that the executor has to
/// set itself (the array, the script, the logs, the job's name).
void check_sbatch_options(const std::vector<std::string>& options);

/// Submits an array. Slurm requeues its tasks if their node fails. Takes at most a minute.
/// **Throws** as `check_sbatch_options`.
[[nodiscard]] SubmitAnswer submit_array(const SlurmSubmission& submission);

/// The tasks of an array that wait or run; none if the controller does not know the array (any more). Takes at most
/// half a minute.
[[nodiscard]] QueueAnswer query_array(const SlurmArray& array);

/// The tasks of all this user's arrays with that job name, on `clusters` if not empty.
[[nodiscard]] QueueAnswer find_arrays(const std::string& job_name, const std::string& clusters);

/// Cancels an array. Returns whether `scancel` succeeded.
[[nodiscard]] bool cancel_array(const SlurmArray& array);

/// The tasks in the output of `squeue` with the format `%i|%T|%N|%r`. The first field names one task, `12_3`, or
/// several, `12_[3-5,9%2]`. A line `CLUSTER: name` gives the cluster of the lines after it; other lines are ignored.
[[nodiscard]] std::vector<QueuedTask> parse_queue(std::string_view text);

}  // namespace stagecraft
