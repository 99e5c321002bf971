#include "sim/base/child_process.hpp"

#include "sim/base/error.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

namespace stagecraft {
namespace {

constexpr std::size_t kKeptErrors = std::size_t{64} * 1024;
constexpr std::size_t kHeaderBytes = sizeof(std::uint64_t) + sizeof(std::uint32_t);

[[noreturn]] void fail(const char* what) { throw InternalError(std::string(what) + ": " + std::strerror(errno)); }

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Writes both parts in one call if the pipe has space for them, so that the reader wakes only once.
bool write_both(int descriptor, std::string_view first, std::string_view second) {
  const std::array<iovec, 2> parts{{{const_cast<char*>(first.data()), first.size()},      // NOLINT: it is only read
                                    {const_cast<char*>(second.data()), second.size()}}};  // NOLINT
  ssize_t written = 0;
  while ((written = writev(descriptor, parts.data(), static_cast<int>(parts.size()))) < 0 && errno == EINTR) {
  }
  if (written < 0) return false;
  const auto done = static_cast<std::size_t>(written);
  return write_all(descriptor, first.substr(std::min(done, first.size()))) &&
         write_all(descriptor, second.substr(done - std::min(done, first.size())));
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe open_pipe() {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) fail("no pipe");
  return {ends[0], ends[1]};
}

void close_end(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

}  // namespace

void FrameSender::send(std::uint32_t kind, std::string_view bytes) const {
  std::array<char, kHeaderBytes> header{};
  const std::uint64_t size = bytes.size();
  std::memcpy(header.data(), &size, sizeof size);
  std::memcpy(header.data() + sizeof size, &kind, sizeof kind);
  if (!write_both(descriptor_, {header.data(), header.size()}, bytes)) _exit(1);
}

ChildProcess::ChildProcess(const std::function<void(FrameSender&)>& body, ChildErrors of_errors) : parent_(getpid()) {
  std::fflush(nullptr);  // C++ streams write through C's
  // The first call of the process looks a function up in all libraries of the program: once here, not in each child.
  static_cast<void>(std::current_exception());
  Pipe frames = open_pipe();
  Pipe errors = of_errors == ChildErrors::Kept ? open_pipe() : Pipe();
  pid_ = fork();
  if (pid_ < 0) fail("no process");
  if (pid_ == 0) {
    close_end(frames.read_end);
    close_end(errors.read_end);
    run_child(body, frames.write_end, errors.write_end);
  }
  close_end(frames.write_end);
  close_end(errors.write_end);
  frames_ = frames.read_end;
  errors_ = errors.read_end;
}

/// Runs the body in the child. The kernel kills the child when its parent dies, however that happens.
void ChildProcess::run_child(const std::function<void(FrameSender&)>& body, int frames, int errors) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent_) _exit(1);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS}) {
    std::signal(signal, SIG_DFL);  // the parent's handlers must not run in the child
  }
  std::signal(SIGPIPE, SIG_IGN);
  if (errors >= 0) dup2(errors, STDERR_FILENO);
  close_end(errors);
  int code = 0;
  try {
    FrameSender sender(frames);
    body(sender);
  } catch (const std::exception& error) {
    write_all(STDERR_FILENO, error.what());
    code = 1;
  }
  std::fflush(stderr);
  _exit(code);
}

ChildProcess::~ChildProcess() {
  close_end(frames_);
  close_end(errors_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

std::optional<Frame> ChildProcess::receive() {
  for (;;) {
    if (std::optional<Frame> frame = take_frame()) return frame;
    if (frames_ < 0) return std::nullopt;
    read_some();
  }
}

std::optional<Frame> ChildProcess::take_frame() {
  const std::string_view rest = std::string_view(pending_).substr(taken_);
  if (rest.size() < kHeaderBytes) return std::nullopt;
  std::uint64_t size = 0;
  Frame frame;
  std::memcpy(&size, rest.data(), sizeof size);
  std::memcpy(&frame.kind, rest.data() + sizeof size, sizeof frame.kind);
  if (rest.size() - kHeaderBytes < size) return std::nullopt;
  frame.bytes = rest.substr(kHeaderBytes, size);
  taken_ += kHeaderBytes + size;
  if (taken_ == pending_.size()) {
    pending_.clear();
    taken_ = 0;
  }
  return frame;
}

/// Reads whatever the two pipes hold; blocks until one of them has something or is closed.
void ChildProcess::read_some() {
  if (errors_ < 0) {
    take_in(POLLIN, 0);
    return;
  }
  std::array<pollfd, 2> ends{{{frames_, POLLIN, 0}, {errors_, POLLIN, 0}}};
  if (poll(ends.data(), ends.size(), -1) < 0) {
    if (errno == EINTR) return;
    fail("no answer from the child");
  }
  take_in(ends[0].revents, ends[1].revents);
}

void ChildProcess::wait_for_any(std::span<ChildProcess* const> children, std::chrono::milliseconds timeout) {
  std::vector<pollfd> ends;
  for (const ChildProcess* child : children) {
    ends.push_back({child->frames_, POLLIN, 0});
    ends.push_back({child->errors_, POLLIN, 0});
  }
  if (poll(ends.data(), ends.size(), static_cast<int>(timeout.count())) < 0) {
    if (errno == EINTR) return;
    fail("no answer from the children");
  }
  for (std::size_t i = 0; i < children.size(); ++i) children[i]->take_in(ends[2 * i].revents, ends[2 * i + 1].revents);
}

/// Reads the data that `poll` has reported, or the end of a pipe.
void ChildProcess::take_in(short of_frames, short of_errors) {
  if (of_frames != 0) {
    pending_.erase(0, taken_);
    taken_ = 0;
    read_from(frames_, pending_);
  }
  if (of_errors != 0) {
    read_from(errors_, error_text_);
    if (error_text_.size() > kKeptErrors) error_text_.erase(0, error_text_.size() - kKeptErrors);
  }
}

/// Reads from the descriptor once. At its end, closes it and returns false.
bool ChildProcess::read_from(int& descriptor, std::string& into) {
  std::array<char, std::size_t{64} * 1024> buffer;  // NOLINT: filled by `read`; clearing it would copy its pages
  const ssize_t count = read(descriptor, buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return true;
  if (count <= 0) {
    close_end(descriptor);
    return false;
  }
  into.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

ChildEnd ChildProcess::wait() {
  while (frames_ >= 0 || errors_ >= 0) {
    read_some();
    pending_.clear();
    taken_ = 0;
  }
  ChildEnd end;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) fail("the child is lost");
  }
  pid_ = -1;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.errors = error_text_;
  return end;
}

}  // namespace stagecraft
