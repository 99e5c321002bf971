#include "experiments/run/result_so_far.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

namespace stagecraft {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no other way to them
std::atomic<const std::string*> result = nullptr;
std::atomic<pid_t> owner = 0;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

}  // namespace

ResultSoFar::~ResultSoFar() { result = nullptr; }

void ResultSoFar::set(std::string text) {
  is_second_ = !is_second_;
  std::string& next = texts_[is_second_ ? 1 : 0];  // a handler may be reading the other one
  next = std::move(text);
  owner = getpid();
  result = &next;
}

void write_result_so_far() {
  const std::string* const kept = result;
  if (kept == nullptr || owner != getpid()) return;
  std::string_view rest = *kept;
  while (!rest.empty()) {
    const ssize_t written = write(STDOUT_FILENO, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace stagecraft
