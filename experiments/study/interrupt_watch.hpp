#pragma once

#include <csignal>

namespace stagecraft {

/// While it exists, SIGINT and SIGTERM only set a flag, so that long work can stop in an orderly way. A signal that was
/// ignored before stays ignored.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;
  InterruptWatch(InterruptWatch&&) = delete;
  InterruptWatch& operator=(InterruptWatch&&) = delete;

  [[nodiscard]] static bool is_interrupted();

 private:
  struct sigaction old_interrupt_{};
  struct sigaction old_termination_{};
};

}  // namespace stagecraft
