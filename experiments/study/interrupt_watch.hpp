#pragma once

#include <csignal>

namespace stagecraft {

/// While it lives, an interrupt or a request to terminate is only noted, so that long work can stop in good order.
/// Where interrupts are ignored they stay so.
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
