// The Slurm executor on a private Slurm of two virtual nodes that this program starts itself; skipped with a notice
// where that is not possible. The study is a shell script that writes a line for each cell.
#include "experiments/study/slurm_executor.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/study/mini_slurm.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

namespace fs = std::filesystem;

/// Nobody else sleeps that long.
const char* const kLongSleep = "86399.25";

/// Each task writes to a file of its own per attempt, as the workers of a study do.
const char* const kWorker = R"(#!/bin/sh
# worker FOLDER CHUNKS SECONDS: one line of CHUNKS holds the cells of a task; FOLDER/hold makes tasks wait
cells=$(sed -n "$((SLURM_ARRAY_TASK_ID + 1))p" "$2")
for cell in $cells; do
  while [ -e "$1/hold" ]; do sleep 0.1; done
  sleep "$3"
  echo "$cell" >>"$1/rows/$SLURM_ARRAY_JOB_ID.$SLURM_ARRAY_TASK_ID.${SLURM_RESTART_COUNT:-0}"
done
echo "node $SLURMD_NODENAME, $GREETING"
)";

/// A study of some cells in a folder whose name would hurt whoever gives it to a shell.
struct ShellStudy {
  ShellStudy(const fs::path& parent, std::size_t cell_count, std::string seconds_per_cell)
      : folder(new_folder(parent)), count(cell_count), seconds(std::move(seconds_per_cell)) {
    fs::create_directories(folder / "rows");
    fs::create_directories(folder / "logs");
    std::ofstream(folder / "worker") << kWorker;
  }
  ~ShellStudy() { fs::remove_all(folder); }
  ShellStudy(const ShellStudy&) = delete;
  ShellStudy& operator=(const ShellStudy&) = delete;

  [[nodiscard]] std::vector<std::size_t> missing() const {
    std::set<std::size_t> rows;
    for (const fs::directory_entry& shard : fs::directory_iterator(folder / "rows")) {
      std::ifstream stream(shard.path());
      rows.insert(std::istream_iterator<std::size_t>(stream), {});
    }
    std::vector<std::size_t> cells;
    for (std::size_t i = 0; i < count; ++i) {
      if (!rows.contains(i)) cells.push_back(i);
    }
    return cells;
  }
  std::string write_chunks(const SlurmChunks& chunks) {
    const fs::path file = folder / ("chunks." + std::to_string(written++));
    std::ofstream stream(file);
    for (const std::vector<std::size_t>& chunk : chunks) {
      for (const std::size_t cell : chunk) stream << cell << ' ';
      stream << '\n';
    }
    return file.string();
  }
  [[nodiscard]] SlurmStudy study() {
    return {.job_name = slurm_name("test " + folder.string()),
            .missing = [this] { return missing(); },
            .write_chunk_file = [this](const SlurmChunks& chunks) { return write_chunks(chunks); },
            .task_command =
                [this](const std::string& file) {
                  return std::vector<std::string>{"sh", "worker", folder.string(), file, seconds};
                },
            .on_progress = [this](const SlurmProgress& progress) { on_progress(progress); },
            .note = [this](const std::string& note) { notes.push_back(note); },
            .stop = [this] { return stop; }};
  }
  [[nodiscard]] SlurmSettings settings() const {
    return {.folder = folder.string(),
            .log_folder = (folder / "logs").string(),
            .environment = {{"GREETING", "good $morning"}},
            .cells_per_task = 2,
            .shortest_poll_s = 0.3,
            .longest_poll_s = 0.5};
  }
  /// All that the tasks printed.
  [[nodiscard]] std::string logs() const {
    std::ostringstream text;
    for (const fs::directory_entry& log : fs::directory_iterator(folder / "logs")) {
      text << std::ifstream(log.path()).rdbuf();
    }
    return text.str();
  }
  /// Attempts that were requeued.
  [[nodiscard]] std::size_t restarts() const {
    std::size_t attempts = 0;
    for (const fs::directory_entry& shard : fs::directory_iterator(folder / "rows")) {
      if (shard.path().extension() != ".0") ++attempts;
    }
    return attempts;
  }
  void hold() const { std::ofstream(folder / "hold"); }
  void release() const { fs::remove(folder / "hold"); }
  [[nodiscard]] std::size_t rows() const { return count - missing().size(); }

  std::function<void(const SlurmProgress&)> on_progress = [](const SlurmProgress&) {};
  std::vector<std::string> notes = {};
  bool stop = false;

  static fs::path new_folder(const fs::path& parent) {
    static int studies = 0;
    return parent / ("it's \"here\" $(touch pwned)\n%j \\x" + std::to_string(studies++));
  }

  fs::path folder;
  std::size_t count;    ///< of cells
  std::string seconds;  ///< per cell
  int written = 0;
};

std::unique_ptr<MiniSlurm>& cluster() {
  static std::unique_ptr<MiniSlurm> started;
  return started;
}

/// One for all tests of this program; none with a notice where there can be none.
const MiniSlurm* try_cluster() {
  if (!cluster()) cluster() = std::make_unique<MiniSlurm>(2);
  if (cluster()->problem().empty()) return cluster().get();
  MESSAGE("skipped, no private Slurm can be started here: " << cluster()->problem());
  return nullptr;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

/// Starts a Slurm that has something to do, tells its folder and is killed.
[[noreturn]] void die_with_cluster(int wire) noexcept {
  const MiniSlurm own(1);
  const std::string folder = own.folder().string();
  const SubmitAnswer answer = submit_array(
      {.job_name = "sleeper", .task_count = 2, .folder = "/", .log_folder = folder, .command = {"sleep", kLongSleep}});
  for (int i = 0; answer.array && i < 1500 && processes_with(kLongSleep) == 0; ++i) usleep(10'000);
  static_cast<void>(write(wire, folder.data(), folder.size()) < 0);
  raise(SIGKILL);
  _exit(1);
}

TEST_CASE("slurm cluster: an array does every cell once, whatever the folder is called") {
  const MiniSlurm* slurm = try_cluster();
  if (slurm == nullptr) return;
  ShellStudy shell(slurm->folder(), 12, "0.05");
  const SlurmOutcome outcome = run_on_slurm(shell.study(), shell.settings());
  INFO(text_of(shell.notes) << shell.logs());
  CHECK(outcome.submissions == 1);
  CHECK(outcome.lost.empty());
  CHECK(shell.rows() == 12);
  CHECK(shell.restarts() == 0);
  CHECK(shell.logs().find("good $morning") != std::string::npos);
  CHECK_FALSE(fs::exists("pwned"));
}

TEST_CASE("slurm cluster: what sbatch refuses is told in its words") {
  const MiniSlurm* slurm = try_cluster();
  if (slurm == nullptr) return;
  ShellStudy shell(slurm->folder(), 2, "0");
  SlurmSettings settings = shell.settings();
  settings.options = {"--partition=nowhere"};
  try {
    static_cast<void>(run_on_slurm(shell.study(), settings));
    FAIL("it was taken");
  } catch (const InputError& error) {
    CHECK(error.message().find("invalid partition specified: nowhere") != std::string::npos);
  }
}

TEST_CASE("slurm cluster: an array that is too large for the site is told apart") {
  const MiniSlurm* slurm = try_cluster();
  if (slurm == nullptr) return;
  const SubmitAnswer answer = submit_array({.job_name = "x",
                                            .task_count = 1'000'000,
                                            .folder = "/",
                                            .log_folder = slurm->folder().string(),
                                            .command = {"true"}});
  CHECK_FALSE(answer.array);
  CHECK(answer.is_too_large);
  CHECK_FALSE(answer.may_pass);
}

// Run by --test-suite=long --no-skip; ctest calls them stress.
TEST_SUITE("long" * doctest::skip()) {
  TEST_CASE("slurm cluster: a wish to stop takes the array out of the queue; the next run does the rest") {
    const MiniSlurm* slurm = try_cluster();
    if (slurm == nullptr) return;
    ShellStudy shell(slurm->folder(), 16, "0.2");
    shell.on_progress = [&](const SlurmProgress& progress) { shell.stop = progress.missing < 16; };
    const SlurmOutcome stopped = run_on_slurm(shell.study(), shell.settings());
    CHECK(stopped.stopped);
    CHECK(shell.rows() > 0);
    CHECK(shell.rows() < 16);
    const QueueAnswer queue = find_arrays(shell.study().job_name, "");
    CHECK(queue.asked);
    for (const QueuedTask& task : queue.tasks) CHECK(task.state == "COMPLETING");
    shell.stop = false;
    shell.on_progress = [](const SlurmProgress&) {};
    CHECK_FALSE(run_on_slurm(shell.study(), shell.settings()).stopped);
    CHECK(shell.rows() == 16);
  }

  TEST_CASE("slurm cluster: an array that nobody knows is empty, one that nobody can ask for is not") {
    const MiniSlurm* slurm = try_cluster();
    if (slurm == nullptr) return;
    CHECK(query_array({"4000000"}).is_empty());
    CHECK(find_arrays("no-such-name", "").is_empty());
    slurm->kill_controller();
    const QueueAnswer silent = query_array({"4000000"});
    CHECK_FALSE(silent.asked);
    CHECK_FALSE(silent.is_empty());
    CHECK(silent.problem.find("ontact") != std::string::npos);
    const SubmitAnswer unheard =
        submit_array({.job_name = "x", .task_count = 1, .folder = "/", .log_folder = "/tmp", .command = {"true"}});
    CHECK_FALSE(unheard.array);
    CHECK(unheard.may_pass);
    slurm->start_controller();
    CHECK(query_array({"4000000"}).is_empty());
  }

  TEST_CASE("slurm cluster: what ran on a node that fails runs again elsewhere") {
    const MiniSlurm* slurm = try_cluster();
    if (slurm == nullptr) return;
    ShellStudy shell(slurm->folder(), 12, "0.05");
    shell.hold();
    bool is_down = false;
    shell.on_progress = [&](const SlurmProgress& progress) {
      if (is_down || progress.running < 4) return;  // two on each node
      is_down = true;
      slurm->set_down("n2");
      shell.release();
    };
    const SlurmOutcome outcome = run_on_slurm(shell.study(), shell.settings());
    INFO(text_of(shell.notes) << shell.logs());
    CHECK(is_down);
    CHECK(outcome.submissions == 1);
    CHECK(shell.rows() == 12);
    CHECK(shell.restarts() == 2);
  }

  TEST_CASE("slurm cluster: an array that the controller forgot is submitted again") {
    const MiniSlurm* slurm = try_cluster();
    if (slurm == nullptr) return;
    ShellStudy shell(slurm->folder(), 10, "0.1");
    bool killed = false;
    SlurmCalls calls;
    calls.submit = [&](const SlurmSubmission& submission) {
      SubmitAnswer answer = submit_array(submission);
      if (!killed) slurm->kill_controller();  // it has not written the array down yet
      if (!killed) slurm->start_controller();
      killed = true;
      return answer;
    };
    const SlurmOutcome outcome = run_on_slurm(shell.study(), shell.settings(), calls);
    INFO(text_of(shell.notes) << shell.logs());
    CHECK(outcome.submissions == 2);
    CHECK(shell.rows() == 10);
  }

  TEST_CASE("slurm cluster: a controller that is away for a while costs nothing but time") {
    const MiniSlurm* slurm = try_cluster();
    if (slurm == nullptr) return;
    ShellStudy shell(slurm->folder(), 16, "0.1");
    shell.hold();
    int silent = 0;
    bool killed = false;
    SlurmCalls calls;
    calls.submit = [&](const SlurmSubmission& submission) {
      SubmitAnswer answer = submit_array(submission);
      slurm->await_saved_state();
      return answer;
    };
    calls.query = [&](const SlurmArray& array) {
      if (!killed) slurm->kill_controller();
      killed = true;
      QueueAnswer answer = query_array(array);
      if (answer.asked) return answer;
      shell.release();
      if (++silent == 2) slurm->start_controller();
      return answer;
    };
    const SlurmOutcome outcome = run_on_slurm(shell.study(), shell.settings(), calls);
    INFO(text_of(shell.notes) << shell.logs());
    CHECK(silent == 2);
    CHECK(outcome.submissions == 1);
    CHECK(shell.rows() == 16);
  }

  TEST_CASE("slurm cluster: a test that is killed leaves no daemon, no task and no folder behind") {
    if (try_cluster() == nullptr) return;
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    const int child = fork();
    if (child == 0) die_with_cluster(ends[1]);
    std::array<char, 200> name{};
    const ssize_t length = read(ends[0], name.data(), name.size());
    waitpid(child, nullptr, 0);
    REQUIRE(length > 0);
    const std::string folder(name.data(), static_cast<std::size_t>(length));
    const auto is_left = [&] {
      return fs::exists(folder) || processes_with(folder) > 0 || processes_with(kLongSleep) > 0;
    };
    for (int i = 0; i < 1000 && is_left(); ++i) usleep(10'000);
    CHECK_FALSE(is_left());
    close(ends[0]);
    close(ends[1]);
  }
}

}  // namespace
}  // namespace stagecraft
