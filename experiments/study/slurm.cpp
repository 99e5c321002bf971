#include "experiments/study/slurm.hpp"

#include "sim/base/error.hpp"
#include "sim/base/foreign_program.hpp"
#include "sim/base/text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>

namespace stagecraft {
namespace {

constexpr std::size_t kLongestName = 100;
constexpr std::int64_t kLargestIndex = 10'000'000;  // Slurm's own limit is 4,000,001
constexpr Seconds kSubmitLimit(60);
constexpr Seconds kAskLimit(30);
constexpr const char* kQueueFormat = "%i|%T|%N|%r";

bool is_plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '_' || letter == '-';
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  return std::string(text);
}

/// Why a call failed: the program's own message if it wrote one.
std::string problem_of(const ForeignProgram& call, const ForeignEnd& end) {
  using How = ForeignEnd::How;
  const std::string& name = call.command.front();
  if (end.how == How::NotStarted) return name + ": " + std::strerror(end.code);  // NOLINT(concurrency-mt-unsafe)
  if (end.how == How::TooSlow) return name + " did not answer within " + format_human_seconds(call.time_limit);
  if (end.how == How::TooMuch) return name + " wrote too much output";
  std::string words = trimmed(end.errors);
  if (!words.empty()) return words;
  const std::string code = std::to_string(end.code);
  return name + (end.how == How::Killed ? " was killed by signal " : " ended with exit code ") + code;
}

bool has_any(std::string_view text, const std::vector<std::string_view>& parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

/// Whether the problem is likely to pass. These are parts of the messages of Slurm 22 to 24 when the controller is
/// down, restarting or overloaded; they start at the second letter where Slurm's capitalisation varies.
bool may_pass(const ForeignEnd& end) {
  return end.how == ForeignEnd::How::TooSlow ||
         has_any(end.errors, {"ontact slurm controller", "ontacting slurm controller", "timed out",
                              "Connection refused", "Zero Bytes", "in standby mode", "emporarily", "Transport endpoint",
                              "Connection reset", "Unable to connect"});
}

/// The indices of a list such as `3,5-9,1-7:2%4`: numbers and ranges, the latter with an optional step. The part from
/// `%` on limits the number of running tasks and is ignored.
std::vector<std::int64_t> parse_indices(std::string_view list) {
  std::vector<std::int64_t> indices;
  list = list.substr(0, list.find('%'));
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    std::array<std::int64_t, 3> numbers{0, 0, 1};  // first, last, step
    const char* at = part.data();
    const char* const stop = part.data() + part.size();
    std::size_t count = 0;
    for (; count < numbers.size() && at != stop; ++count) {
      const auto [next, problem] = std::from_chars(at, stop, numbers[count]);
      if (problem != std::errc()) break;
      at = next == stop ? next : next + 1;
    }
    if (count == 1) numbers[1] = numbers[0];
    if (count == 0 || numbers[0] < 0 || numbers[1] > kLargestIndex || numbers[2] < 1) numbers[1] = -1;
    for (std::int64_t index = numbers[0]; index <= numbers[1]; index += numbers[2]) indices.push_back(index);
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return indices;
}

std::vector<std::string_view> split(std::string_view text, char mark, std::size_t most) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most && text.find(mark) != std::string_view::npos) {
    parts.push_back(text.substr(0, text.find(mark)));
    text.remove_prefix(text.find(mark) + 1);
  }
  parts.push_back(text);
  return parts;
}

QueueAnswer ask_queue(std::vector<std::string> arguments, const std::string& clusters) {
  if (!clusters.empty()) arguments.push_back("--clusters=" + clusters);
  arguments.insert(arguments.begin(), {"squeue", "--noheader", "--array", "--format", kQueueFormat});
  const ForeignProgram call{.command = std::move(arguments), .time_limit = kAskLimit, .hidden_variables = {"SQUEUE_"}};
  const ForeignEnd end = run_foreign_program(call);
  if (end.succeeded()) return {.asked = true, .tasks = parse_queue(end.output)};
  // This is the controller's answer if it does not know the single job that was asked for.
  if (end.how == ForeignEnd::How::Left && has_any(end.errors, {"Invalid job id"})) return {.asked = true};
  return {.problem = problem_of(call, end)};
}

/// Options of sbatch that the user may not give, because the executor sets them itself or because they would change the
/// kind of submission. sbatch also accepts shortened names, so any prefix of these is refused.
const std::vector<std::string_view>& owned_options() {
  static const std::vector<std::string_view> names = {"array",  "chdir",      "error",    "export",     "export-file",
                                                      "help",   "ignore-pbs", "job-name", "no-requeue", "open-mode",
                                                      "output", "parsable",   "quiet",    "requeue",    "test-only",
                                                      "usage",  "version",    "wait",     "wrap"};
  return names;
}

}  // namespace

bool slurm_is_there() {
  return program_is_there("sbatch") && program_is_there("squeue") && program_is_there("scancel");
}

std::string slurm_name(std::string_view text) {
  std::string name(text.substr(0, kLongestName));
  std::replace_if(name.begin(), name.end(), [](char letter) { return !is_plain(letter); }, '_');
  return name;
}

std::string shown_word(std::string_view text) {
  const bool is_clear = !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return is_plain(letter) || std::string_view("/.,:=+@%").find(letter) != std::string_view::npos;
  });
  return is_clear ? std::string(text) : shell_word(text);
}

// Slurm replaces `%` and removes `\` in the names of logs and folders, and takes `#SBATCH` in the lines before the
// first command for options. So it is given no such names: the script itself changes to the folder and opens its log.
std::string batch_script(const SlurmSubmission& submission) {
  std::string script = "#!/bin/sh\n";
  script +=
      "exec >>" + shell_word(submission.log_folder + "/") + "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.log\" 2>&1\n";
  script += "if [ \"${SLURM_RESTART_COUNT:-0}\" -gt " + std::to_string(submission.restart_limit) +
            " ]; then echo 'requeued too often'; exit 1; fi\n";
  script += "cd " + shell_word(submission.folder) + " || exit 1\n";
  for (const auto& [name, value] : submission.environment) {
    STAGECRAFT_CHECK(!name.empty() && std::all_of(name.begin(), name.end(),
                                                  [](char c) { return is_plain(c) && c != '.' && c != '-'; }),
                     "a variable has a name that a shell takes");
    script += "export " + name + "=" + shell_word(value) + "\n";
  }
  script += "exec";
  for (const std::string& argument : submission.command) script += " " + shell_word(argument);
  return script + "\n";
}

void check_sbatch_options(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    const std::string name = option.substr(0, option.find('='));
    if (!name.starts_with("--") || name.size() < 3 || !std::all_of(name.begin(), name.end(), is_plain)) {
      throw InputError("expected an option of sbatch such as '--partition=NAME', found " + quote(option), {},
                       "write each option in its long form, with '=' before its value");
    }
    const auto& owned = owned_options();
    const auto taken =
        std::find_if(owned.begin(), owned.end(), [&](std::string_view own) { return own.starts_with(name.substr(2)); });
    if (taken != owned.end()) {
      throw InputError("the sbatch option '--" + std::string(*taken) + "' cannot be set, found " + quote(option), {},
                       "the executor sets the array, the script, the logs and the job's name itself");
    }
  }
}

SubmitAnswer submit_array(const SlurmSubmission& submission) {
  check_sbatch_options(submission.options);
  STAGECRAFT_CHECK(submission.task_count > 0, "an array has tasks");
  std::string indices = "0-" + std::to_string(submission.task_count - 1);
  if (submission.running_limit > 0) indices += "%" + std::to_string(submission.running_limit);
  const std::string script = batch_script(submission);
  ForeignProgram call{
      .command = {"sbatch"}, .input = script, .time_limit = kSubmitLimit, .hidden_variables = {"SBATCH_WAIT"}};
  call.command.insert(call.command.end(), submission.options.begin(), submission.options.end());
  call.command.insert(call.command.end(),
                      {"--parsable", "--requeue", "--open-mode=append", "--export=ALL", "--output=/dev/null",
                       "--chdir=/", "--job-name=" + slurm_name(submission.job_name), "--array=" + indices});
  const ForeignEnd end = run_foreign_program(call);
  if (!end.succeeded()) {
    return {.is_too_large = has_any(end.errors, {"Invalid job array specification"}),
            .may_pass = may_pass(end),
            .problem = problem_of(call, end)};
  }
  const std::string answer = trimmed(end.output);
  const std::size_t semicolon = answer.find(';');
  SlurmArray array{answer.substr(0, semicolon)};
  if (semicolon != std::string::npos) array.cluster = answer.substr(semicolon + 1);
  if (array.id.empty() || !std::all_of(array.id.begin(), array.id.end(), is_plain)) {
    return {.problem = "sbatch answered " + quote(answer) + " instead of a job id"};
  }
  return {.array = array};
}

QueueAnswer query_array(const SlurmArray& array) { return ask_queue({"--jobs=" + array.id}, array.cluster); }

QueueAnswer find_arrays(const std::string& job_name, const std::string& clusters) {
  return ask_queue({"--user=" + std::to_string(getuid()), "--name=" + slurm_name(job_name)}, clusters);
}

bool cancel_array(const SlurmArray& array) {
  std::vector<std::string> arguments{"scancel"};
  if (!array.cluster.empty()) arguments.push_back("--clusters=" + array.cluster);
  arguments.push_back(array.id);
  return run_foreign_program({.command = arguments, .time_limit = kAskLimit, .hidden_variables = {"SCANCEL_"}})
      .succeeded();
}

std::vector<QueuedTask> parse_queue(std::string_view text) {
  std::vector<QueuedTask> tasks;
  std::string cluster;
  for (const std::string_view line : split(text, '\n', std::string_view::npos)) {
    if (line.starts_with("CLUSTER: ")) cluster = trimmed(line.substr(9));
    const std::vector<std::string_view> fields = split(line, '|', 4);
    if (fields.size() != 4) continue;
    const std::string_view whole = fields[0];
    const std::size_t bar = whole.find('_');
    QueuedTask task{
        {trimmed(whole.substr(0, bar)), cluster}, kNoIndex, trimmed(fields[1]), trimmed(fields[2]), trimmed(fields[3])};
    std::string_view list = bar == std::string_view::npos ? "" : whole.substr(bar + 1);
    if (list.starts_with('[')) list = list.substr(1, list.find(']') - 1);
    std::vector<std::int64_t> indices = parse_indices(list);
    if (indices.empty()) indices.push_back(kNoIndex);  // not understood, but the task is still in the queue
    for (const std::int64_t index : indices) {
      task.index = index;
      tasks.push_back(task);
    }
  }
  return tasks;
}

}  // namespace stagecraft
