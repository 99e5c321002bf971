#pragma once

#include <sys/resource.h>

namespace stagecraft::bench {

inline double cpu_seconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}
/// Of this process and of its children that have ended.
inline double cpu_seconds() { return cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN); }

inline double largest_mebibytes(int who) {
  rusage usage{};
  getrusage(who, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024.0;
}
inline double largest_mebibytes() { return largest_mebibytes(RUSAGE_SELF); }
inline double largest_child_mebibytes() { return largest_mebibytes(RUSAGE_CHILDREN); }

}  // namespace stagecraft::bench
