#include "experiments/study/program.hpp"

#include "sim/base/error.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace stagecraft {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a poll may take before the program is asked whether it still lives: a grandchild may hold its pipes.
constexpr int kSliceMs = 20;

/// More reads than two full pipes need.
constexpr int kLastReads = 64;

[[noreturn]] void fail_system(const char* what) {
  throw InternalError(std::string(what) + ": " + std::strerror(errno));
}

/// A descriptor that closes itself and is never one of the standard streams.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {
    if (number > STDERR_FILENO) return;
    number_ = fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(number);
  }
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  [[nodiscard]] int number() const { return number_; }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail_system("no pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// The whole input lies in a file in memory, so nobody has to feed a pipe, and a program that does not read is no
/// trouble.
Descriptor input_file(std::string_view content) {
  Descriptor file(memfd_create("input", MFD_CLOEXEC));
  if (file.number() < 0) fail_system("no file in memory");
  while (!content.empty()) {
    const ssize_t written = write(file.number(), content.data(), content.size());
    if (written < 0 && errno != EINTR) fail_system("no file in memory");
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  lseek(file.number(), 0, SEEK_SET);
  return file;
}

bool is_hidden(std::string_view variable, const std::vector<std::string>& hidden) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(hidden.begin(), hidden.end(), [&](const std::string& entry) {
    return name == entry || (entry.ends_with('_') && name.starts_with(entry));
  });
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> shown_environment(const std::vector<std::string>& hidden) {
  std::vector<std::string> shown;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (!is_hidden(*entry, hidden)) shown.emplace_back(*entry);
  }
  return shown;
}

struct Streams {
  Descriptor input;
  Pipe out = open_pipe();
  Pipe err = open_pipe();
  Pipe failure = open_pipe();  ///< closed by a start that works, else it carries errno
};

/// In the child, between fork and exec.
[[noreturn]] void become(char* const* arguments, char* const* environment, const Streams& streams, int parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (int signal = 1; signal < 32; ++signal) std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(streams.input.number(), STDIN_FILENO);
  dup2(streams.out.write_end.number(), STDOUT_FILENO);
  dup2(streams.err.write_end.number(), STDERR_FILENO);
  execvpe(arguments[0], arguments, environment);
  const int problem = errno;
  static_cast<void>(write(streams.failure.write_end.number(), &problem, sizeof problem) < 0);
  _exit(127);
}

int start(const ProgramCall& call, const Streams& streams) {
  std::vector<std::string> arguments = call.arguments;
  std::vector<std::string> environment = shown_environment(call.hidden_variables);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  const int parent = getpid();
  const int child = fork();
  if (child < 0) fail_system("no process");
  if (child == 0) become(argument_pointers.data(), environment_pointers.data(), streams, parent);
  setpgid(child, child);  // whoever comes first
  return child;
}

/// Reads once; closes the descriptor at its end.
void read_into(std::string& text, Descriptor& from, std::size_t kept) {
  std::array<char, std::size_t{64} * 1024> buffer;  // NOLINT: filled by `read`; clearing it would copy its pages
  const ssize_t count = read(from.number(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    from.reset();
    return;
  }
  text.append(buffer.data(), std::min(static_cast<std::size_t>(count), kept - std::min(kept, text.size())));
}

/// Waits at most a slice for output. False if there was none.
bool read_some(ProgramEnd& end, Streams& streams, std::size_t kept, int slice_ms) {
  std::array<pollfd, 2> ends{{{streams.out.read_end.number(), POLLIN, 0}, {streams.err.read_end.number(), POLLIN, 0}}};
  if (poll(ends.data(), ends.size(), slice_ms) <= 0) return false;
  if (ends[0].revents != 0) read_into(end.out, streams.out.read_end, kept);
  if (ends[1].revents != 0) read_into(end.err, streams.err.read_end, kept);
  return true;
}

/// True when the child has ended; then `end` says how.
bool has_ended(int child, ProgramEnd& end) {
  int status = 0;
  const int which = waitpid(child, &status, WNOHANG);
  if (which < 0 && errno != EINTR) fail_system("the program is lost");
  if (which != child) return false;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return true;
}

void await_end(int child, const ProgramCall& call, Streams& streams, ProgramEnd& end) {
  const Clock::time_point deadline = Clock::now() + call.time_limit;
  const auto is_open = [&] { return streams.out.read_end.number() >= 0 || streams.err.read_end.number() >= 0; };
  while (!has_ended(child, end)) {
    read_some(end, streams, call.kept_output, is_open() ? kSliceMs : 1);
    if (!end.timed_out && Clock::now() >= deadline) {
      end.timed_out = true;
      kill(-child, SIGKILL);
    }
  }
  // What it wrote last; a grandchild that goes on writing is not waited for.
  for (int i = 0; i < kLastReads && is_open() && read_some(end, streams, call.kept_output, 0); ++i) {
  }
}

}  // namespace

ProgramEnd run_program(const ProgramCall& call) {
  STAGECRAFT_CHECK(!call.arguments.empty(), "a call names its program");
  for (const std::string& argument : call.arguments) {
    STAGECRAFT_CHECK(argument.find('\0') == std::string::npos, "no argument has a NUL");
  }
  Streams streams;
  streams.input = input_file(call.input);
  const int child = start(call, streams);
  streams.out.write_end.reset();
  streams.err.write_end.reset();
  streams.failure.write_end.reset();

  ProgramEnd end;
  int problem = 0;
  ssize_t told = 0;
  do {
    told = read(streams.failure.read_end.number(), &problem, sizeof problem);
  } while (told < 0 && errno == EINTR);
  await_end(child, call, streams, end);
  if (told == static_cast<ssize_t>(sizeof problem)) {
    end.not_started = std::strerror(problem);  // NOLINT(concurrency-mt-unsafe): one thread
    end.exit_code = -1;
  }
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
