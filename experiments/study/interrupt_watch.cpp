#include "experiments/study/interrupt_watch.hpp"

namespace stagecraft {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a handler's

void note_interrupt(int) { interrupted = 1; }

void watch(int signal, struct sigaction& old) {
  sigaction(signal, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction action{};
  action.sa_handler = note_interrupt;  // without SA_RESTART, so that a blocking call returns when a signal comes
  sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted = 0;
  watch(SIGINT, old_interrupt_);
  watch(SIGTERM, old_termination_);
}

InterruptWatch::~InterruptWatch() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_termination_, nullptr);
}

bool InterruptWatch::is_interrupted() { return interrupted != 0; }

}  // namespace stagecraft
