#include "planners/hetpipe/worker_cut.hpp"

#include <algorithm>
#include <limits>

namespace stagecraft::hetpipe {

WorkerCut cut_worker(const WorkerCosts& costs) {
  const std::size_t layers = costs.prefix.size() - 1;
  const std::size_t stages = costs.factors.size();
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<std::vector<std::size_t>> cut(stages, std::vector<std::size_t>(layers + 1));
  std::vector<double> best(layers + 1, kNone);
  for (std::size_t j = 1; j <= layers; ++j) best[j] = costs.stage(0, 0, j);
  for (std::size_t s = 1; s < stages; ++s) {
    std::vector<double> next(layers + 1, kNone);
    for (std::size_t j = s + 1; j <= layers; ++j) {
      // The computation grows as i falls, so the scan ends once it alone reaches the best value found.
      for (std::size_t i = j; i-- > s && costs.computation(s, i, j) < next[j];) {
        const double largest = std::max(best[i], costs.stage(s, i, j));
        if (largest >= next[j]) continue;
        next[j] = largest;
        cut[s][j] = i;
      }
    }
    best = std::move(next);
  }
  WorkerCut answer{best[layers], std::vector<std::size_t>(stages)};
  for (std::size_t s = stages, end = layers; s-- > 1;) answer.first[s] = end = cut[s][end];
  return answer;
}

}  // namespace stagecraft::hetpipe
