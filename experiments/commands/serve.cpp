#include "experiments/commands/add_option.hpp"
#include "experiments/commands/command_line.hpp"
#include "experiments/commands/held_inputs.hpp"
#include "experiments/commands/served_request.hpp"
#include "experiments/commands/shared_options.hpp"
#include "experiments/commands/verbs.hpp"
#include "experiments/run/external_planner.hpp"
#include "sim/base/error.hpp"
#include "sim/io/json.hpp"
#include "sim/io/text_file.hpp"

#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft {
namespace {

/// Commands that a client cannot ask for: they would read its requests, or take its whole process.
constexpr std::array<std::string_view, 2> kNotServed = {"serve", "worker"};

/// The standard streams of the program, as the two ends of a conversation in lines. What else the program reads from
/// its standard input is empty, and what else it writes to its standard output goes to standard error, until this ends.
class Conversation {
 public:
  Conversation() {
    std::fflush(stdout);
    const int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    out_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    in_ = in < 0 ? nullptr : fdopen(in, "r");
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in_ == nullptr || out_ < 0 || nothing < 0) throw InternalError("the standard streams cannot be taken");
    dup2(nothing, STDIN_FILENO);
    close(nothing);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~Conversation() {
    std::fflush(stdout);
    dup2(fileno(in_), STDIN_FILENO);
    dup2(out_, STDOUT_FILENO);
    std::free(line_);  // NOLINT(cppcoreguidelines-no-malloc,cppcoreguidelines-owning-memory): of getline
    static_cast<void>(std::fclose(in_));  // NOLINT(cppcoreguidelines-owning-memory): of fdopen
    close(out_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;
  Conversation(Conversation&&) = delete;
  Conversation& operator=(Conversation&&) = delete;

  /// The next line without its end; none after the last one. It is valid until the next call.
  [[nodiscard]] std::optional<std::string_view> hear() {
    const ssize_t size = getline(&line_, &room_, in_);
    if (size < 0) return std::nullopt;
    std::string_view line(line_, static_cast<std::size_t>(size));
    if (line.ends_with('\n')) line.remove_suffix(1);
    return line;
  }

  /// **Throws** InputError when nobody listens any more.
  void say(std::string_view line) const {
    while (!line.empty()) {
      const ssize_t written = write(out_, line.data(), line.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw InputError(std::string("cannot write to standard output: ") + std::strerror(errno));
      line.remove_prefix(static_cast<std::size_t>(written));
    }
  }

 private:
  std::FILE* in_ = nullptr;
  int out_ = -1;
  char* line_ = nullptr;
  std::size_t room_ = 0;
};

const std::string* text_at(const Detail& document, std::string_view key) {
  const auto* record = std::get_if<Detail::Record>(&document.value);
  if (record == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*record, [&](const auto& entry) { return entry.first == key; });
  return found != record->end() ? std::get_if<std::string>(&found->second.value) : nullptr;
}

/// Asks a planner of the client's: its next line is `{"reply": "…"}`, the text that a program would answer with, or
/// `{"problem": "…"}`.
PlannerClient::Answer ask_client(Conversation& client, const Detail& id, const std::string& planner,
                                 const std::string& request) {
  client.say(question_line(id, planner, request));
  const auto line = client.hear();
  const std::optional<Detail> answer = line ? from_json(*line) : std::nullopt;
  if (const std::string* text = answer ? text_at(*answer, "reply") : nullptr) return {*text, ""};
  const std::string* problem = answer ? text_at(*answer, "problem") : nullptr;
  return {"",
          problem != nullptr ? *problem : R"(the client answered with neither {"reply": "…"} nor {"problem": "…"})"};
}

Answer answer_of(std::string json) { return {.text = {}, .json = std::move(json)}; }

/// What serves one client.
class Server {
 public:
  /// Answers the lines of the client until there are no more.
  void run() {
    while (const auto line = client_.hear()) {
      if (line->find_first_not_of(" \t\r") == std::string_view::npos) continue;
      Detail id;
      std::vector<std::string> remarks;
      const CommandEnd end = end_of([&, request = std::string(*line)] { return answer(request, id, remarks); });
      client_.say(answer_line(id, end.answer, remarks));
    }
  }

 private:
  Answer answer(const std::string& line, Detail& id, std::vector<std::string>& remarks) {
    const auto say = [&](const std::string& remark) {
      if (std::ranges::find(remarks, remark) == remarks.end()) remarks.push_back(remark);
    };
    ServedRequest request = parse_served_request(line, id);
    const GivenFiles files(request.files);
    const PlannerClient planners([&](const std::string& planner, const std::string& question) {
      return ask_client(client_, id, planner, question);
    });
    if (auto* command = std::get_if<ServedCommand>(&request.what)) return run(*command, say);
    if (auto* hold = std::get_if<ServedHold>(&request.what)) {
      held_.reset();  // also where the new ones cannot be loaded
      held_.emplace(std::move(hold->inputs), std::move(request.files), say);
      return answer_of("{}");
    }
    return answer_of(evaluations(std::get<ServedEvaluation>(request.what), say));
  }

  static Answer run(ServedCommand& command, const std::function<void(const std::string&)>& say) {
    for (const std::string_view name : kNotServed) {
      if (!command.words.empty() && command.words.front() == name) {
        throw InputError("the command '" + std::string(name) + "' is not served");
      }
    }
    command.words.insert(command.words.begin(), "--json");
    return end_of_command(command.words, say, Progress::Shown).answer;
  }

  /// The figures of each plan, or the error in its place.
  std::string evaluations(const ServedEvaluation& request, const HeldInputs::Say& say) {
    if (!held_) {
      throw InputError("there is nothing to evaluate plans with", {"request", 0, 0, "evaluate"},
                       "hold a model and a platform first");
    }
    std::string list;
    for (const std::string& plan : request.plans) list += (list.empty() ? "[" : ",") + evaluation(plan, say);
    return list.empty() ? "[]" : list + "]";
  }

  std::string evaluation(const std::string& plan, const HeldInputs::Say& say) {
    const CommandEnd end = end_of([&] { return answer_of(to_json(held_->evaluate(plan, say), -1)); });
    if (!end.failed) return end.answer.json;
    std::string error = on_one_line(end.answer.json);
    error.pop_back();
    return error + R"(,"text":)" + to_json(end.answer.text, -1) + "}";
  }

  Conversation client_;
  std::optional<HeldInputs> held_;
};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to it
pid_t first_parent = 0;

void leave_after_parent(int) {
  if (getppid() != first_parent) _exit(0);
}

/// Looks every second whether the process that started this one has ended, and ends this one then.
void end_with_parent() {
  first_parent = getppid();
  struct sigaction action{};
  action.sa_handler = leave_after_parent;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval every_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &every_second, nullptr);
}

VerbAction configure_serve(CLI::App& command) {
  auto ends = std::make_shared<bool>(false);
  add_flag(command, "--end-with-parent", *ends, "end when the process that started this one has ended");
  return [ends](const Settings&) {
    if (*ends) end_with_parent();
    Server().run();
    return Answer{};
  };
}

}  // namespace

const Verb serve_verb{
    .name = "serve",
    .summary = "run commands that a program sends, one JSON line each; answer likewise",
    .configure = configure_serve,
    .only_serves = true,
};

}  // namespace stagecraft
