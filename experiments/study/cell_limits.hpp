#pragma once

#include "experiments/study/study.hpp"
#include "sim/base/quantity.hpp"

namespace stagecraft {

/// Sets the memory limit of this process, which the kernel enforces, and turns core dumps off.
void limit_memory(const StudyLimits& limits);

/// Lets the kernel end this process (SIGALRM) after that time; 0 cancels the alarm.
void set_alarm(Seconds time);

}  // namespace stagecraft
