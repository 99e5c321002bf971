#include "sim/base/foreign_program.hpp"

#include "sim/base/error.hpp"
#include "sim/base/signal_taken.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kKeptOutput = std::size_t{64} * 1024;
constexpr std::size_t kLargestPipe = std::size_t{1} << 20;  // the most that the system lets a pipe hold
constexpr int kFirstFree = 3;                               // after the standard streams
constexpr int kLongestNap = 50;                             // ms, the longest wait between two looks

[[noreturn]] void lack(const char* what) { throw InternalError(std::string(what) + ": " + std::strerror(errno)); }

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

struct ProgramPipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// A pipe. Both ends have numbers above the standard streams that a program is given, and are closed in the program.
ProgramPipe open_program_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) lack("no pipe");
  const std::array<Descriptor, 2> opened{Descriptor(ends[0]), Descriptor(ends[1])};
  ProgramPipe result{Descriptor(fcntl(ends[0], F_DUPFD_CLOEXEC, kFirstFree + 1)),
                     Descriptor(fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstFree + 1))};
  if (!result.read_end.is_open() || !result.write_end.is_open()) lack("no pipe");
  return result;
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

pid_t fork_or_throw() {
  const pid_t pid = fork();
  if (pid < 0) lack("no process");
  return pid;
}

bool is_hidden(std::string_view variable, const std::vector<std::string>& hidden) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::any_of(hidden, [&](const std::string& entry) {
    return name == entry || (entry.ends_with('_') && name.starts_with(entry));
  });
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The arguments of `exec`, made before the fork.
struct Image {
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> arguments;
  std::vector<char*> environment;

  explicit Image(const ForeignProgram& call) : words(call.command) {
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      if (!is_hidden(*entry, call.hidden_variables)) variables.emplace_back(*entry);
    }
    arguments = pointers_to(words);
    environment = pointers_to(variables);
  }
  /// Executes the program; returns only if that fails. A file given by its path that is not a program is not passed to
  /// a shell.
  void start() const {
    const char* program = arguments.front();
    if (words.front().find('/') != std::string::npos) {
      execve(program, arguments.data(), environment.data());
    } else {
      execvpe(program, arguments.data(), environment.data());
    }
  }
};

/// In the child: becomes the program. If that fails, the reason is written to `report`; otherwise the start of the
/// program closes `report`.
[[noreturn]] void become(const Image& image, const ProgramPipe& input, const ProgramPipe& output,
                         const ProgramPipe& errors, const ProgramPipe& report, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  for (int each = 1; each < NSIG; ++each) std::signal(each, SIG_DFL);
  sigset_t none{};
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(input.read_end.number(), STDIN_FILENO);
  dup2(output.write_end.number(), STDOUT_FILENO);
  dup2(errors.write_end.number(), STDERR_FILENO);
  dup3(report.write_end.number(), kFirstFree, O_CLOEXEC);
  closefrom(kFirstFree + 1);
  image.start();
  const int problem = errno;
  const ssize_t told = write(kFirstFree, &problem, sizeof problem);
  _exit(told < 0 ? 2 : 1);
}

/// In a child of its own: waits until no process holds the other end of `life`, then kills the group. So the program
/// and its children end even if this process is killed; the system would not do that.
[[noreturn]] void watch(const ProgramPipe& life, pid_t group) {
  setpgid(0, 0);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(each, SIG_IGN);
  dup2(life.read_end.number(), STDIN_FILENO);
  closefrom(STDIN_FILENO + 1);
  char nothing = 0;
  while (read(STDIN_FILENO, &nothing, 1) < 0 && errno == EINTR) {
  }
  kill(-group, SIGKILL);
  _exit(0);
}

/// A running program. Its process group is killed before the program is reaped, because after that the group's number
/// may be reused.
struct Running {
  pid_t pid = -1;
  pid_t watcher = -1;
  Descriptor input;
  Descriptor output;
  Descriptor errors;
  Descriptor life;

  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  Running(Running&&) = delete;
  Running& operator=(Running&&) = delete;
  ~Running() {
    if (pid < 0) return;
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    if (watcher >= 0) {
      kill(watcher, SIGKILL);
      reap(watcher);
    }
    reap(pid);
  }
};

/// The reason why the program could not be started (errno); 0 if it was started.
int start(const ForeignProgram& call, Running& running) {
  const Image image(call);
  ProgramPipe input = open_program_pipe();
  ProgramPipe output = open_program_pipe();
  ProgramPipe errors = open_program_pipe();
  ProgramPipe report = open_program_pipe();
  const pid_t parent = getpid();
  running.pid = fork_or_throw();
  if (running.pid == 0) become(image, input, output, errors, report, parent);
  setpgid(running.pid, running.pid);  // the child does it too; the first of the two calls counts
  report.write_end.close();
  int problem = 0;
  ssize_t told = 0;
  while ((told = read(report.read_end.number(), &problem, sizeof problem)) < 0 && errno == EINTR) {
  }
  if (told == sizeof problem) return problem;
  running.input = std::move(input.write_end);
  running.output = std::move(output.read_end);
  running.errors = std::move(errors.read_end);
  for (const Descriptor* each : {&running.input, &running.output, &running.errors}) {
    fcntl(each->number(), F_SETFL, O_NONBLOCK);
  }
  ProgramPipe life = open_program_pipe();
  running.watcher = fork_or_throw();
  if (running.watcher == 0) watch(life, running.pid);
  running.life = std::move(life.write_end);
  return 0;
}

/// Whether the program has ended. It is not reaped here.
bool has_ended(pid_t pid, ForeignEnd& end) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) lack("the program is lost");
  if (info.si_pid == 0) return false;
  end.how = info.si_code == CLD_EXITED ? ForeignEnd::How::Left : ForeignEnd::How::Killed;
  end.code = info.si_status;
  return true;
}

/// Writes as much as the pipe takes. Closes it after the last byte, or if the program no longer reads.
void write_some(Descriptor& pipe, std::string_view& rest) {
  const ssize_t count = write(pipe.number(), rest.data(), rest.size());
  if (count > 0) rest.remove_prefix(static_cast<std::size_t>(count));
  const bool is_broken = count < 0 && errno != EAGAIN && errno != EINTR;
  if (rest.empty() || is_broken) pipe.close();
}

/// Reads once whatever is there, and returns how much. Closes the pipe at its end.
std::size_t read_some(Descriptor& pipe, std::string& into) {
  std::array<char, std::size_t{64} * 1024> buffer;  // NOLINT: filled by `read`; clearing it would cost its pages
  const ssize_t count = read(pipe.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (count <= 0) {
    pipe.close();
    return 0;
  }
  into.append(buffer.data(), static_cast<std::size_t>(count));
  return static_cast<std::size_t>(count);
}

void trim_errors(ForeignEnd& end) {
  if (end.errors.size() <= kKeptOutput) return;
  end.errors.erase(0, end.errors.size() - kKeptOutput);
  end.are_errors_cut = true;
}

/// Reads what the pipes still hold.
void drain(Running& running, ForeignEnd& end) {
  for (std::size_t count = 0, more = 1; running.output.is_open() && more > 0 && count < kLargestPipe; count += more) {
    more = read_some(running.output, end.output);
  }
  for (std::size_t count = 0, more = 1; running.errors.is_open() && more > 0 && count < kLargestPipe; count += more) {
    more = read_some(running.errors, end.errors);
    trim_errors(end);
  }
}

/// Serves the three pipes once, waiting at most `nap` milliseconds for any of them. A descriptor of -1 is ignored.
void serve(Running& running, std::string_view& input, ForeignEnd& end, int nap) {
  std::array<pollfd, 3> ends{{{running.input.number(), POLLOUT, 0},
                              {running.output.number(), POLLIN, 0},
                              {running.errors.number(), POLLIN, 0}}};
  if (poll(ends.data(), ends.size(), nap) <= 0) return;
  if (ends[0].revents != 0) write_some(running.input, input);
  if (ends[1].revents != 0) read_some(running.output, end.output);
  if (ends[2].revents != 0) read_some(running.errors, end.errors);
  trim_errors(end);
}

/// Serves the program's pipes until it ends or is killed at a limit.
void converse(const ForeignProgram& call, Running& running, ForeignEnd& end) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point began = Clock::now();
  std::string_view input = call.input;
  if (input.empty()) running.input.close();
  int nap = 1;  // short at first: most programs end soon after they have closed their output
  while (!has_ended(running.pid, end)) {
    const double left = call.time_limit.value() - std::chrono::duration<double>(Clock::now() - began).count();
    if (left <= 0) {
      end.how = ForeignEnd::How::TooSlow;
      return;
    }
    const bool is_silent = !running.output.is_open() && !running.errors.is_open();
    const int most = static_cast<int>(std::min(left * 1000.0 + 1.0, double{kLongestNap}));
    serve(running, input, end, std::min(is_silent ? nap : kLongestNap, most));
    if (is_silent) nap = std::min(nap * 2, kLongestNap);
    if (end.output.size() > call.most_output) {
      end.how = ForeignEnd::How::TooMuch;
      return;
    }
  }
  kill(-running.pid, SIGKILL);  // processes that it left behind would go on writing
  drain(running, end);
  if (end.output.size() > call.most_output) end.how = ForeignEnd::How::TooMuch;
}

}  // namespace

ForeignEnd run_foreign_program(const ForeignProgram& call) {
  STAGECRAFT_CHECK(!call.command.empty(), "a call names its program");
  for (const std::string& word : call.command) {
    STAGECRAFT_CHECK(word.find('\0') == std::string::npos, "no word of a call has a NUL");
  }
  const SignalTaken broken_pipe(SIGPIPE, SIG_IGN);  // writing to a program that no longer reads must not kill us
  const SignalTaken child(SIGCHLD, SIG_DFL);        // if it is ignored, we cannot wait for a child
  Running running;
  ForeignEnd end;
  end.code = start(call, running);
  if (end.code != 0) {
    end.how = ForeignEnd::How::NotStarted;
    return end;
  }
  converse(call, running, end);
  return end;
}

bool program_is_there(const std::string& name) {
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): one thread
  std::string_view folders = path == nullptr ? "/usr/bin:/bin" : path;
  for (;;) {
    const std::size_t colon = folders.find(':');
    const std::string file = std::string(folders.substr(0, colon)) + "/" + name;
    struct stat found{};
    if (stat(file.c_str(), &found) == 0 && S_ISREG(found.st_mode) && access(file.c_str(), X_OK) == 0) return true;
    if (colon == std::string_view::npos) return false;
    folders.remove_prefix(colon + 1);
  }
}

}  // namespace stagecraft
