#pragma once

#include <csignal>

namespace stagecraft {

/// Sets how this process handles a signal, until the object is destroyed.
class SignalTaken {
 public:
  SignalTaken(int signal, void (*how)(int)) : signal_(signal) {
    struct sigaction action{};
    action.sa_handler = how;
    sigaction(signal_, &action, &old_);
  }
  ~SignalTaken() { sigaction(signal_, &old_, nullptr); }
  SignalTaken(const SignalTaken&) = delete;
  SignalTaken& operator=(const SignalTaken&) = delete;
  SignalTaken(SignalTaken&&) = delete;
  SignalTaken& operator=(SignalTaken&&) = delete;

 private:
  int signal_;
  struct sigaction old_{};
};

}  // namespace stagecraft
