#include "experiments/commands/command_line.hpp"
#include "sim/base/error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kBrokenPipe = 128 + SIGPIPE;

/// Opens /dev/null in place of each standard stream that is closed; otherwise the next file that is opened would get
/// its descriptor. Standard output is opened for reading only: a write to it then fails, and a lost result is an error.
void occupy_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) != -1) continue;
    const int opened = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    if (opened != -1 && opened != descriptor) close(opened);
  }
}

void leave_interrupted(int signal) {
  stagecraft::end_interrupted();
  _exit(128 + signal);
}

/// Makes an interrupt (Ctrl-C) and a request to terminate end the program at once with exit code 130 or 143, unless
/// they were ignored at its start.
void mind_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction old{};
    sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action{};
    action.sa_handler = leave_interrupted;
    sigaction(signal, &action, nullptr);
  }
}

/// Writes the whole text. Returns false if that fails; errno then holds the reason.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  occupy_standard_streams();
  mind_interrupts();
  std::ostringstream out;
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const int code = stagecraft::run_watched_command_line(arguments, out, std::cerr);
  if (write_all(STDOUT_FILENO, out.view())) return code;
  if (errno == EPIPE) return kBrokenPipe;
  std::cerr << "stagecraft: error: cannot write to standard output: " << std::strerror(errno) << '\n';
  return static_cast<int>(stagecraft::ExitCode::Input);
}
