#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {

struct StudyGroup;

/// How well a contender knows its own plans, and how good they are.
struct Claims {
  std::size_t plans = 0;              ///< groups in which it predicts a time and its cells were run
  std::optional<double> mean_error;   ///< (predicted − simulated) / simulated; arithmetic mean over these groups
  std::optional<double> worst_error;  ///< the one furthest from 0
  /// Spearman's, of predicted and simulated times, each divided by the best simulated time of its group, so that what
  /// makes a whole group slow does not count. None for fewer than three plans and where either does not vary.
  std::optional<double> rank_correlation;
  /// The throughput of the group's best line divided by its own: geometric mean over the groups that it ran in with
  /// others, and the largest.
  std::optional<double> regret;
  std::optional<double> worst_regret;
};

/// One for each contender.
[[nodiscard]] std::vector<Claims> summarise_claims(const std::vector<StudyGroup>& groups, std::size_t contenders);

/// Spearman's rank correlation: Pearson's of the ranks, equal values sharing the mean of theirs. None for fewer than
/// three pairs and where one of the lists does not vary. **Requires** lists of one length. **Cost** O(n log n).
[[nodiscard]] std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stagecraft
