#pragma once

#include "sim/base/quantity.hpp"

#include <vector>

namespace stagecraft {

/// A piece of work for something that does one thing at a time, or that divides its capacity among several.
struct Job {
  Seconds head;  ///< the earliest start
  Seconds time;
  Seconds tail;  ///< what must pass after its end, in which others may be served
};

/// The least time at which all jobs and their tails have ended: the largest of (least head + sum of times + least tail)
/// over all sets of jobs. It is reached if jobs may be interrupted, always by the one with the longest tail (Jackson).
/// Zero without jobs. **Cost** O(n log n).
[[nodiscard]] Seconds least_completion(std::vector<Job> jobs);

}  // namespace stagecraft
