// The executor's loop against a Slurm of a few lines, with a clock that jumps.
#include "experiments/study/slurm_executor.hpp"

#include "sim/base/error.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

/// A study of `count` cells and a Slurm that runs one task of each array per question.
struct FakeCluster {
  std::size_t count = 0;
  std::set<std::size_t> rows = {};
  std::set<std::size_t> killers = {};  ///< cells that end their task before any row
  double time = 0;
  double stop_at = 1e9;
  double away_from = -1;  ///< when the controller does not answer
  double away_until = -1;
  bool forgets = false;         ///< the next array, as soon as it has it
  bool answer_is_lost = false;  ///< of the next submission, though it is taken
  std::string refusal = {};
  std::size_t most_tasks = 1000;
  std::vector<SlurmChunks> written = {};
  std::map<std::string, SlurmChunks> queue = {};  ///< tasks not yet run, by array
  std::vector<SlurmSubmission> submitted = {};
  std::vector<std::string> cancelled = {};
  std::vector<std::string> notes = {};
  std::vector<SlurmProgress> progress = {};

  [[nodiscard]] bool is_away() const { return time >= away_from && time < away_until; }
  [[nodiscard]] std::vector<std::size_t> missing() const {
    std::vector<std::size_t> cells;
    for (std::size_t i = 0; i < count; ++i) {
      if (!rows.contains(i)) cells.push_back(i);
    }
    return cells;
  }
  void run_one_task() {
    for (auto& [id, chunks] : queue) {
      if (chunks.empty()) continue;
      for (const std::size_t cell : chunks.back()) {
        if (killers.contains(cell)) break;
        rows.insert(cell);
      }
      chunks.pop_back();
      return;
    }
  }
  SubmitAnswer submit(const SlurmSubmission& submission) {
    if (!refusal.empty()) return {.problem = refusal};
    if (submission.task_count > most_tasks) return {.is_too_large = true, .problem = "invalid array"};
    if (is_away()) return {.may_pass = true, .problem = "unable to contact"};
    submitted.push_back(submission);
    const std::string id = std::to_string(submitted.size());
    if (!forgets) queue[id] = written.at(std::stoul(submission.command.at(1)));
    forgets = false;
    if (!answer_is_lost) return {.array = SlurmArray{id}};
    answer_is_lost = false;
    return {.may_pass = true, .problem = "timed out"};
  }
  [[nodiscard]] std::vector<QueuedTask> tasks_of(const std::string& id) const {
    const auto found = queue.find(id);
    std::vector<QueuedTask> tasks(found == queue.end() ? 0 : found->second.size());
    for (QueuedTask& task : tasks) task = {SlurmArray{id}, kNoIndex, "PENDING", "", "Priority"};
    if (!tasks.empty()) tasks.front().state = "RUNNING";
    return tasks;
  }
  QueueAnswer query(const SlurmArray& array) {
    if (is_away()) return {.problem = "unable to contact"};
    const std::vector<QueuedTask> tasks = tasks_of(array.id);
    run_one_task();
    return {.asked = true, .tasks = tasks};
  }
  [[nodiscard]] QueueAnswer find() const {
    if (is_away()) return {.problem = "unable to contact"};
    QueueAnswer answer{.asked = true};
    for (const auto& [id, chunks] : queue) {
      const std::vector<QueuedTask> tasks = tasks_of(id);
      answer.tasks.insert(answer.tasks.end(), tasks.begin(), tasks.end());
    }
    return answer;
  }
  [[nodiscard]] bool has_note(const std::string& part) const {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(part) != std::string::npos; });
  }
};

SlurmOutcome run(FakeCluster& fake, const SlurmSettings& settings = {}) {
  const SlurmStudy study{
      .job_name = "study",
      .missing = [&] { return fake.missing(); },
      .write_chunk_file =
          [&](const SlurmChunks& chunks) {
            fake.written.push_back(chunks);
            return std::to_string(fake.written.size() - 1);
          },
      .task_command = [](const std::string& file) { return std::vector<std::string>{"worker", file}; },
      .on_progress = [&](const SlurmProgress& progress) { fake.progress.push_back(progress); },
      .note = [&](const std::string& note) { fake.notes.push_back(note); },
      .stop = [&] { return fake.time >= fake.stop_at; }};
  const SlurmCalls calls{.submit = [&](const SlurmSubmission& submission) { return fake.submit(submission); },
                         .query = [&](const SlurmArray& array) { return fake.query(array); },
                         .find = [&](const std::string&, const std::string&) { return fake.find(); },
                         .cancel =
                             [&](const SlurmArray& array) {
                               fake.cancelled.push_back(array.id);
                               return true;
                             },
                         .now = [&] { return fake.time; },
                         .sleep = [&](double seconds) { fake.time += seconds; }};
  return run_on_slurm(study, settings, calls);
}

TEST_CASE("slurm executor: cells are dealt round to as many chunks as there may be") {
  CHECK(deal_chunks({0, 1, 2, 3, 4}, 1000, 2) == SlurmChunks{{0, 2, 4}, {1, 3}});
  CHECK(deal_chunks({7, 8, 9}, 1000, 50) == SlurmChunks{{7, 8, 9}});
  CHECK(deal_chunks({7, 8, 9}, 2, 1) == SlurmChunks{{7, 9}, {8}});
  CHECK(deal_chunks({}, 10, 1).empty());
  std::vector<std::size_t> many(10'000);
  std::iota(many.begin(), many.end(), 0);
  CHECK(deal_chunks(many, 1000, 3).size() == 1000);
  CHECK(deal_chunks(many, 1000, 50).size() == 200);
}

TEST_CASE("slurm executor: every cell gets its row with one array") {
  FakeCluster fake{.count = 230};
  const SlurmOutcome outcome = run(fake, {.running_limit = 7});
  CHECK(fake.rows.size() == 230);
  CHECK(outcome.lost.empty());
  CHECK(outcome.submissions == 1);
  CHECK(fake.submitted.at(0).task_count == 4);
  CHECK(fake.submitted.at(0).running_limit == 7);
  // Before the first task has run: four tasks of the array are there, one of them runs.
  CHECK(fake.progress.at(0).waiting == 3);
  CHECK(fake.progress.at(0).running == 1);
  CHECK(fake.progress.at(0).reason == "Priority");
  CHECK(fake.progress.back().missing == 0);
}

TEST_CASE("slurm executor: nothing missing, nothing asked") {
  FakeCluster fake{.count = 3, .rows = {0, 1, 2}, .away_from = 0, .away_until = 1e9};
  CHECK(run(fake).submissions == 0);
}

TEST_CASE("slurm executor: an array that the controller forgot is submitted again") {
  FakeCluster fake{.count = 100, .forgets = true};
  const SlurmOutcome outcome = run(fake);
  CHECK(outcome.submissions == 2);
  CHECK(fake.rows.size() == 100);
  CHECK(fake.has_note("as many as before"));
}

TEST_CASE("slurm executor: only what is missing is submitted again, and a killer of tasks ends alone") {
  FakeCluster fake{.count = 200, .killers = {0, 57}};
  const SlurmOutcome outcome = run(fake);
  CHECK(outcome.lost == std::vector<std::size_t>{0, 57});
  CHECK(fake.rows.size() == 198);
  CHECK(outcome.submissions <= 8);
  for (std::size_t i = 1; i < fake.written.size(); ++i) {
    std::size_t cells = 0;
    for (const std::vector<std::size_t>& chunk : fake.written[i]) cells += chunk.size();
    CHECK(cells < 200);
  }
  CHECK(fake.written.back() == SlurmChunks{{0}, {57}});
}

TEST_CASE("slurm executor: a cluster on which nothing works is given up after three arrays") {
  FakeCluster fake{.count = 4, .killers = {0, 1, 2, 3}};
  const SlurmOutcome outcome = run(fake);
  CHECK(outcome.lost.size() == 4);
  CHECK(outcome.submissions == 3);
}

TEST_CASE("slurm executor: a queue that cannot be asked is not an empty one") {
  FakeCluster fake{.count = 300, .away_from = 1.5, .away_until = 900};
  const SlurmOutcome outcome = run(fake);
  CHECK(outcome.submissions == 1);
  CHECK(fake.rows.size() == 300);
  CHECK(fake.has_note("Slurm does not answer (unable to contact)"));
  CHECK(fake.notes.size() == 1);
  CHECK(fake.time > 900);
}

TEST_CASE("slurm executor: a Slurm that stays away ends the run with a word on how to go on") {
  FakeCluster fake{.count = 300, .away_from = 1.5, .away_until = 1e8};
  try {
    static_cast<void>(run(fake));
    FAIL("it went on");
  } catch (const InputError& error) {
    CHECK(error.message().starts_with("Slurm has not answered for 18"));
    CHECK(error.message().ends_with(" s: unable to contact"));
    CHECK(error.hint().find("--resume") != std::string::npos);
  }
  CHECK(fake.time > 1800);
  CHECK(fake.time < 1900);
  CHECK(fake.cancelled.empty());
}

TEST_CASE("slurm executor: a refused submission is the user's to mend") {
  FakeCluster fake{.count = 3, .refusal = "invalid partition specified: x"};
  try {
    static_cast<void>(run(fake));
    FAIL("it went on");
  } catch (const InputError& error) {
    CHECK(error.message() == "Slurm refuses the job array: invalid partition specified: x");
  }
}

TEST_CASE("slurm executor: a site that takes only small arrays gets small arrays") {
  FakeCluster fake{.count = 100, .most_tasks = 7};
  const SlurmOutcome outcome = run(fake, {.cells_per_task = 1});
  CHECK(fake.rows.size() == 100);
  CHECK(outcome.submissions == 1);
  CHECK(fake.submitted.at(0).task_count == 6);  // 100, 50, 25, 12, 6
  FakeCluster closed{.count = 100, .most_tasks = 0};
  CHECK_THROWS_AS(static_cast<void>(run(closed)), InputError);
}

TEST_CASE("slurm executor: a submission whose answer was lost is not made twice") {
  FakeCluster fake{.count = 300, .answer_is_lost = true};
  const SlurmOutcome outcome = run(fake);
  CHECK(fake.submitted.size() == 1);
  CHECK(outcome.submissions == 1);
  CHECK(fake.rows.size() == 300);
}

TEST_CASE("slurm executor: what an earlier run left in the queue is waited for") {
  FakeCluster fake{.count = 60, .queue = {{"77", {{0, 1, 2}, {3, 4, 5}}}}};
  CHECK(run(fake).submissions == 1);
  CHECK(fake.has_note("array 77"));
  CHECK(fake.rows.size() == 60);
  CHECK(fake.written.at(0).at(0).front() == 6);
}

TEST_CASE("slurm executor: a wish to stop cancels the array") {
  FakeCluster fake{.count = 1000, .stop_at = 5};
  const SlurmOutcome outcome = run(fake);
  CHECK(outcome.stopped);
  CHECK(fake.cancelled == std::vector<std::string>{"1"});
  CHECK(fake.rows.size() < 1000);
  CHECK(fake.time < 6);
  FakeCluster at_once{.count = 10, .stop_at = 0};
  CHECK(run(at_once).stopped);
  CHECK(at_once.submitted.empty());
}

}  // namespace
}  // namespace stagecraft
