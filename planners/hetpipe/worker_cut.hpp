#pragma once

#include <cstddef>
#include <vector>

namespace stagecraft::hetpipe {

/// The costs of the stages of one virtual worker's pipeline, in seconds per microbatch. Stage s runs on the s-th
/// device.
struct WorkerCosts {
  std::vector<double> prefix;     ///< forward + backward of the layers before; one entry more than there are layers
  std::vector<double> factors;    ///< time factor of the s-th device relative to the profile
  std::vector<double> overheads;  ///< of both passes on the s-th device
  /// [s][i]: time in one direction over the link between stages s and s + 1 for the bytes that cross the cut before
  /// layer i
  std::vector<std::vector<double>> transfers;

  /// Never grows as `begin` grows.
  [[nodiscard]] double computation(std::size_t s, std::size_t begin, std::size_t end) const {
    return factors[s] * (prefix[end] - prefix[begin]) + overheads[s];
  }
  /// The time of the layers [begin, end) as stage s: its computation, and the transfers that it receives (activations
  /// from the stage before, gradients from the stage after).
  [[nodiscard]] double stage(std::size_t s, std::size_t begin, std::size_t end) const {
    double time = computation(s, begin, end);
    if (s > 0) time += transfers[s - 1][begin];
    if (s + 1 < factors.size()) time += transfers[s][end];
    return time;
  }
};

struct WorkerCut {
  double stage_time = 0.0;         ///< of the slowest stage
  std::vector<std::size_t> first;  ///< the first layer of each stage
};

/// The contiguous, non-empty stages whose largest time is as small as possible. Dynamic program: best(s, j) is the
/// least largest time if the first j layers form the stages 0 to s,
///   best(s, j) = min over i of max(best(s - 1, i), stage(s, i, j)), with the largest i on ties.
/// **Requires** at least as many layers as devices. **Cost** O(devices · layers²).
[[nodiscard]] WorkerCut cut_worker(const WorkerCosts& costs);

}  // namespace stagecraft::hetpipe
