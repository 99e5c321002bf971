#include "experiments/study/cell_limits.hpp"

#include <sys/resource.h>
#include <sys/time.h>

#include <cmath>

namespace stagecraft {

void limit_memory(const StudyLimits& limits) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (!limits.memory) return;
  const auto bytes = static_cast<rlim_t>(limits.memory->value());
  const rlimit data{bytes, bytes};
  setrlimit(RLIMIT_DATA, &data);
}

void set_alarm(Seconds time) {
  const double whole = std::floor(time.value());
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(whole);
  timer.it_value.tv_usec = static_cast<suseconds_t>((time.value() - whole) * 1e6);
  setitimer(ITIMER_REAL, &timer, nullptr);
}

}  // namespace stagecraft
