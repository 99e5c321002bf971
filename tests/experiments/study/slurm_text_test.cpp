// The commands for Slurm and the reading of its answers. No Slurm is needed.
#include "experiments/study/slurm.hpp"
#include "sim/base/error.hpp"
#include "sim/base/foreign_program.hpp"
#include "sim/base/text.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace stagecraft::slurm_text_test {
namespace {

namespace fs = std::filesystem;

std::string numbers_of(const std::vector<QueuedTask>& tasks) {
  std::string text;
  for (const QueuedTask& task : tasks) text += task.array.id + "." + std::to_string(task.index) + " ";
  return text;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// A folder of its own, removed at the end.
struct Scratch {
  test::TemporaryFolder temporary;
  fs::path folder = temporary.path();
};

const std::vector<std::string>& odd_names() {
  static const std::vector<std::string> names = {"",       "a b",   "it's", "\"q\"",     "line\nbreak\n",
                                                 "\r\n",   "$HOME", "`id`", "$(echo x)", "../up",
                                                 "back\\", "%j%%",  "-n",   "\xff\x01",  "#SBATCH --hold"};
  return names;
}

TEST_CASE("slurm: a line of the queue names one task or many") {
  CHECK(numbers_of(parse_queue("12_3|RUNNING|n1|None\n")) == "12.3 ");
  CHECK(numbers_of(parse_queue("12_[3-5,9%2]|PENDING||Resources\n")) == "12.3 12.4 12.5 12.9 ");
  CHECK(numbers_of(parse_queue("12_[1-7:3]|PENDING||None\n7_0|RUNNING|n2|None\n")) == "12.1 12.4 12.7 7.0 ");
  CHECK(parse_queue("12_3|RUNNING|node[1-2]|None\n") ==
        std::vector<QueuedTask>{{{"12", ""}, 3, "RUNNING", "node[1-2]", "None"}});
  CHECK(parse_queue("CLUSTER: east\n5_1|PENDING||(a|b)\n") ==
        std::vector<QueuedTask>{{{"5", "east"}, 1, "PENDING", "", "(a|b)"}});
}

TEST_CASE("slurm: what cannot be counted in the queue is still there") {
  CHECK(numbers_of(parse_queue("12|RUNNING|n1|None\n")) == "12.-1 ");
  CHECK(numbers_of(parse_queue("12_[...]|PENDING||None\n")) == "12.-1 ");
  CHECK(numbers_of(parse_queue("12_[0,2,...]|PENDING||None\n")) == "12.0 12.2 ");
  CHECK(numbers_of(parse_queue("12_[0-99999999999999999999]|PENDING||None\n")) == "12.0 ");
  CHECK(parse_queue("").empty());
  CHECK(parse_queue("slurm says good morning\n").empty());
}

TEST_CASE("slurm: any text is one word of a shell") {
  for (const std::string& name : odd_names()) {
    CAPTURE(name);
    const std::string script = "for word in " + shell_word(name) + "; do printf %s \"$word\"; done; exit 3";
    const ForeignEnd end = run_foreign_program({.command = {"sh", "-c", script}});
    CHECK(end.code == 3);
    CHECK(end.output == name);
    CHECK(shell_word(name).find('\r') == std::string::npos);
  }
}

TEST_CASE("slurm: the script of a task runs the command as it is, in the folder, with the variables and a log") {
  const Scratch scratch;
  std::vector<std::string> command = {"printf", "[%s]"};
  command.insert(command.end(), odd_names().begin(), odd_names().end());
  std::string expected;
  for (const std::string& name : odd_names()) expected += "[" + name + "]";
  for (const std::string& name : odd_names()) {
    CAPTURE(name);
    const fs::path folder = scratch.folder / ("x" + name);
    fs::create_directories(folder);
    const auto log_of = [&](const SlurmSubmission& submission) {
      const ForeignEnd end =
          run_foreign_program({.command = {"env", "SLURM_ARRAY_JOB_ID=12", "SLURM_ARRAY_TASK_ID=3", "sh"},
                               .input = batch_script(submission)});
      CHECK(end.output + end.errors == "");
      const std::string log = content_of(folder / "12_3.log");
      fs::remove(folder / "12_3.log");
      return log;
    };
    SlurmSubmission submission{.folder = folder.string(), .log_folder = folder.string(), .command = command};
    CHECK(log_of(submission) == expected);
    submission.command = {"sh", "-c", "printf %s \"$ODD\"; pwd -P | cmp -s - \"$1\"", "sh", "/dev/null"};
    submission.environment = {{"ODD", name}};
    CHECK(log_of(submission) == name);
    submission.command = {"pwd", "-P"};
    CHECK(log_of(submission) == fs::canonical(folder).string() + "\n");
  }
}

TEST_CASE("slurm: a task that was requeued too often leaves") {
  const Scratch scratch;
  const SlurmSubmission submission{.restart_limit = 2,
                                   .folder = scratch.folder.string(),
                                   .log_folder = scratch.folder.string(),
                                   .command = {"echo", "ran"}};
  for (const char* const restarts : {"0", "2", "3"}) {
    static_cast<void>(run_foreign_program({.command = {"env", "SLURM_ARRAY_JOB_ID=1", "SLURM_ARRAY_TASK_ID=0",
                                                       std::string("SLURM_RESTART_COUNT=") + restarts, "sh"},
                                           .input = batch_script(submission)}));
  }
  CHECK(content_of(scratch.folder / "1_0.log") == "ran\nran\nrequeued too often\n");
}

TEST_CASE("slurm: the name of a job is plain") {
  CHECK(slurm_name("a b/../c,d\n$(x)") == "a_b_.._c_d___x_");
  CHECK(slurm_name(std::string(500, 'x')).size() == 100);
}

TEST_CASE("slurm: the user's options of sbatch are taken where they harm nothing") {
  CHECK_NOTHROW(check_sbatch_options(
      {"--partition=long", "--mem=4G", "--exclusive", "--comment=a b, 'c'", "--wait-all-nodes=1"}));
  for (const char* const option : {"-p", "main", "", "--", "--=x", "--arr=0-3", "--array=0-3", "--wrap=id", "--wait",
                                   "--o=x", "--no-req", "--a b", "--job-name=x"}) {
    CAPTURE(option);
    CHECK_THROWS_AS(check_sbatch_options({option}), InputError);
  }
}

}  // namespace
}  // namespace stagecraft::slurm_text_test
