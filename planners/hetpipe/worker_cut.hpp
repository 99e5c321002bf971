#pragma once

#include <cstddef>
#include <vector>

namespace stagecraft::hetpipe {

/// What a cut of one virtual worker's pipeline costs. Seconds per microbatch; stage s runs on the s-th device.
struct WorkerCosts {
  std::vector<double> prefix;   ///< forward + backward of the layers before; one entry more than there are layers
  std::vector<double> factors;  ///< of the s-th device on the profile's times
  /// [s][i]: one way over the link between stages s and s + 1, of what crosses the cut before layer i.
  std::vector<std::vector<double>> transfers;

  /// Falls as `begin` grows.
  [[nodiscard]] double computation(std::size_t s, std::size_t begin, std::size_t end) const {
    return factors[s] * (prefix[end] - prefix[begin]);
  }
  /// Layers [begin, end) as stage s: computation, and what it receives: activations from before, gradients from behind.
  [[nodiscard]] double stage(std::size_t s, std::size_t begin, std::size_t end) const {
    double time = computation(s, begin, end);
    if (s > 0) time += transfers[s - 1][begin];
    if (s + 1 < factors.size()) time += transfers[s][end];
    return time;
  }
};

struct WorkerCut {
  double stage_time = 0.0;         ///< of the slowest
  std::vector<std::size_t> first;  ///< the first layer of each stage
};

/// The contiguous, non-empty stages with the least largest time: best(s, j) = min over i of max(best(s - 1, i),
/// stage(s, i, j)), the largest i on ties.
/// **Requires** at least as many layers as devices. **Cost** O(devices · layers²).
[[nodiscard]] WorkerCut cut_worker(const WorkerCosts& costs);

}  // namespace stagecraft::hetpipe
