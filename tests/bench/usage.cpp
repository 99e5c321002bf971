#include "tests/bench/usage.hpp"

#include <sys/resource.h>

#include <ctime>

namespace stagecraft::bench {
namespace {

rusage usage_of(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return usage;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double cpu_seconds(const rusage& usage) { return seconds(usage.ru_utime) + seconds(usage.ru_stime); }

double mebibytes(const rusage& usage) { return static_cast<double>(usage.ru_maxrss) / 1024.0; }

}  // namespace

double cpu_seconds() { return cpu_seconds(usage_of(RUSAGE_SELF)) + cpu_seconds(usage_of(RUSAGE_CHILDREN)); }
double own_cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}
double largest_mebibytes() { return mebibytes(usage_of(RUSAGE_SELF)); }
double largest_child_mebibytes() { return mebibytes(usage_of(RUSAGE_CHILDREN)); }

}  // namespace stagecraft::bench
