#include "experiments/study/slurm_executor.hpp"

#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace stagecraft {
namespace {

constexpr double kStopCheck = 0.2;
constexpr double kPollGrowth = 1.3;
/// The factor by which chunks shrink from one submission to the next, so that a cell that kills its task is soon in a
/// chunk of its own and no longer takes other cells with it.
constexpr std::size_t kShrink = 4;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// The clusters that the user's options of `sbatch` name; empty if they name none.
std::string clusters_of(const std::vector<std::string>& options) {
  std::string clusters;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    if (option.starts_with("--cluster") && equals != std::string::npos) clusters = option.substr(equals + 1);
  }
  return clusters;
}

/// How a wait for the arrays ended. Gone: no task is in the queue any more, but cells are missing. Complete: all cells
/// have rows. Stopped: the user stopped the run.
enum class Waited { Gone, Complete, Stopped };

/// One run of the executor. Its loop compares what is wanted (a row for each cell) with what is there (rows in shards,
/// tasks in the queue): it submits the missing cells, waits until no task is left, reads the rows, and starts again
/// with the cells that are still missing.
class Reconciliation {
 public:
  Reconciliation(const SlurmStudy& study, const SlurmSettings& settings, SlurmCalls calls)
      : study_(study), settings_(settings), calls_(std::move(calls)), max_array_(settings.max_array) {
    if (!calls_.now) calls_.now = steady_seconds;
    if (!calls_.sleep) calls_.sleep = sleep_seconds;
  }

  SlurmOutcome run();

 private:
  void adopt();
  Waited wait_until_gone();
  QueueAnswer ask_all();
  void report(const QueueAnswer& queue);
  void submit();
  [[nodiscard]] SlurmSubmission submission_of(const SlurmChunks& chunks) const;
  [[nodiscard]] std::size_t least_cells() const;
  void take_missing();
  bool judge_progress(std::size_t before);
  void cancel_all();
  void bear(const std::string& problem);
  bool pause(double seconds);

  const SlurmStudy& study_;
  const SlurmSettings& settings_;
  SlurmCalls calls_;
  std::size_t max_array_;
  std::vector<SlurmArray> arrays_;  ///< that may still have tasks
  std::vector<std::size_t> missing_;
  std::size_t submissions_ = 0;
  int fruitless_ = 0;         ///< submissions in a row that brought no row
  double silent_since_ = -1;  ///< when Slurm stopped answering; negative: it answers
  bool warned_ = false;
};

SlurmOutcome Reconciliation::run() {
  take_missing();
  if (missing_.empty()) return {};
  adopt();
  for (;;) {
    const std::size_t before = missing_.size();
    const bool adopted = submissions_ == 0 && !arrays_.empty();
    if (!adopted && !study_.stop()) submit();
    const Waited waited = wait_until_gone();
    if (waited == Waited::Stopped) {
      cancel_all();
      return {.stopped = true, .submissions = submissions_};
    }
    if (waited == Waited::Complete) return {.submissions = submissions_};
    arrays_.clear();
    if (!adopted && !judge_progress(before)) return {.lost = missing_, .submissions = submissions_};
  }
}

void Reconciliation::take_missing() { missing_ = study_.missing(); }

/// Notes how many cells are still missing after a submission. Returns false if it is time to give up: if several
/// submissions in a row brought no new row.
bool Reconciliation::judge_progress(std::size_t before) {
  const bool fruitless = missing_.size() == before;
  fruitless_ = fruitless ? fruitless_ + 1 : 0;
  const bool again = fruitless_ < settings_.fruitless_submissions;
  study_.note("the array has left the queue, and " + std::to_string(missing_.size()) +
              (fruitless ? " cells have no row, as many as before" : " cells have no row yet") + "; its logs are in " +
              settings_.log_folder + (again ? "; submitting the missing cells" : ""));
  return again;
}

/// Takes over the arrays that an earlier run of this study left in the queue.
void Reconciliation::adopt() {
  for (;;) {
    const QueueAnswer answer = calls_.find(study_.job_name, clusters_of(settings_.options));
    if (answer.asked) {
      silent_since_ = -1;
      for (const QueuedTask& task : answer.tasks) {
        if (std::find(arrays_.begin(), arrays_.end(), task.array) != arrays_.end()) continue;
        arrays_.push_back(task.array);
        study_.note("array " + task.array.id + " of this study is already in the queue; waiting for it");
      }
      return;
    }
    bear(answer.problem);
    if (pause(settings_.shortest_poll_s)) return;
  }
}

/// The least number of cells of a chunk: it shrinks with every submission, and is 1 in the last attempt before giving
/// up.
std::size_t Reconciliation::least_cells() const {
  if (fruitless_ > 0 && fruitless_ + 1 >= settings_.fruitless_submissions) return 1;
  std::size_t least = settings_.cells_per_task;
  for (std::size_t i = 0; i < submissions_ && least > 1; ++i) least /= kShrink;
  return std::max<std::size_t>(least, 1);
}

SlurmSubmission Reconciliation::submission_of(const SlurmChunks& chunks) const {
  return {.job_name = study_.job_name,
          .task_count = chunks.size(),
          .running_limit = settings_.running_limit,
          .options = settings_.options,
          .folder = settings_.folder,
          .log_folder = settings_.log_folder,
          .environment = settings_.environment,
          .command = study_.task_command(study_.write_chunk_file(chunks))};
}

/// Submits the missing cells as an array, which is then in `arrays_`; if the user stops the run, `arrays_` stays empty.
/// If the site allows only smaller arrays, tries again with half the tasks. If the controller does not answer, looks in
/// the queue before it submits again, so that no array runs twice.
void Reconciliation::submit() {
  SlurmSubmission submission = submission_of(deal_chunks(missing_, max_array_, least_cells()));
  while (arrays_.empty()) {
    const SubmitAnswer answer = calls_.submit(submission);
    if (answer.array) {
      silent_since_ = -1;
      arrays_.push_back(*answer.array);
    } else if (answer.is_too_large && submission.task_count > 1) {
      max_array_ = submission.task_count / 2;  // the site's `MaxArraySize` is less than the number of tasks
      submission = submission_of(deal_chunks(missing_, max_array_, least_cells()));
    } else if (!answer.may_pass) {
      throw InputError("Slurm refuses the job array: " + answer.problem, {},
                       "the rows so far are kept; correct the options of sbatch and run again with --resume");
    } else {
      bear(answer.problem);
      if (pause(settings_.shortest_poll_s)) return;
      adopt();  // the controller may have accepted the array and failed before it answered
    }
  }
  ++submissions_;
}

/// The tasks of all arrays in one answer. If one array cannot be asked for, `asked` is false.
QueueAnswer Reconciliation::ask_all() {
  QueueAnswer all{.asked = true};
  for (const SlurmArray& array : arrays_) {
    QueueAnswer answer = calls_.query(array);
    if (!answer.asked) return answer;
    all.tasks.insert(all.tasks.end(), answer.tasks.begin(), answer.tasks.end());
  }
  return all;
}

void Reconciliation::report(const QueueAnswer& queue) {
  SlurmProgress progress{.missing = missing_.size()};
  for (const QueuedTask& task : queue.tasks) {
    if (task.state != "PENDING") {
      ++progress.running;
      continue;
    }
    if (progress.waiting == 0 && task.reason != "None") progress.reason = task.reason;
    ++progress.waiting;
  }
  study_.on_progress(progress);
}

/// Waits until all cells have rows, or until `empty_answers` questions in a row found no task in the queue. The
/// interval between two questions grows while nothing changes.
Waited Reconciliation::wait_until_gone() {
  double interval = settings_.shortest_poll_s;
  int empty_answers = 0;
  while (empty_answers < settings_.empty_answers) {
    if (pause(interval)) return Waited::Stopped;
    const QueueAnswer answer = ask_all();
    const std::size_t before = missing_.size();
    take_missing();  // after the question, so that the rows of a task that was no longer in the queue are seen
    if (answer.asked) {
      silent_since_ = -1;
      report(answer);
    }
    if (missing_.empty()) {
      const bool some_wait = std::any_of(answer.tasks.begin(), answer.tasks.end(),
                                         [](const QueuedTask& task) { return task.state == "PENDING"; });
      if (some_wait) cancel_all();  // waiting tasks of an adopted array have nothing left to do
      return Waited::Complete;
    }
    if (!answer.asked) bear(answer.problem);
    empty_answers = answer.is_empty() ? empty_answers + 1 : 0;
    const bool news = missing_.size() < before || empty_answers > 0;
    interval = news ? settings_.shortest_poll_s : std::min(interval * kPollGrowth, settings_.longest_poll_s);
  }
  return Waited::Gone;
}

/// Called when Slurm does not answer: does nothing at first, warns after `warn_after_s`, and throws InputError after
/// `give_up_after_s`.
void Reconciliation::bear(const std::string& problem) {
  const double now = calls_.now();
  if (silent_since_ < 0) {
    silent_since_ = now;
    warned_ = false;
  }
  const double silent = now - silent_since_;
  if (silent >= settings_.give_up_after_s) {
    throw InputError("Slurm has not answered for " + format_human_seconds(Seconds(silent)) + ": " + problem, {},
                     "the rows so far are kept; when `squeue` answers again, run again with --resume");
  }
  if (silent >= settings_.warn_after_s && !warned_) {
    warned_ = true;
    study_.note("Slurm does not answer (" + problem + "); still trying");
  }
}

void Reconciliation::cancel_all() {
  for (const SlurmArray& array : arrays_) {
    if (!calls_.cancel(array))
      study_.note("array " + array.id + " could not be cancelled: run `scancel " + array.id + "`");
  }
}

/// Waits. Returns true, possibly before the time is over, if the user stops the run.
bool Reconciliation::pause(double seconds) {
  const double end = calls_.now() + seconds;
  while (!study_.stop()) {
    const double left = end - calls_.now();
    if (left <= 0) return false;
    calls_.sleep(std::min(left, kStopCheck));
  }
  return true;
}

}  // namespace

SlurmChunks deal_chunks(const std::vector<std::size_t>& cells, std::size_t max_tasks, std::size_t least) {
  STAGECRAFT_CHECK(max_tasks > 0 && least > 0, "there is room for a chunk");
  const std::size_t wanted = std::max<std::size_t>(cells.size() / least, 1);
  SlurmChunks chunks(std::min({wanted, max_tasks, cells.size()}));
  for (std::size_t i = 0; i < cells.size(); ++i) chunks[i % chunks.size()].push_back(cells[i]);
  return chunks;
}

SlurmOutcome run_on_slurm(const SlurmStudy& study, const SlurmSettings& settings, const SlurmCalls& calls) {
  return Reconciliation(study, settings, calls).run();
}

}  // namespace stagecraft
