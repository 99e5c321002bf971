#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace stagecraft {

struct StudyGroup;

/// How well a contender knows its own plans, and how good they are, in the groups in which all its cells are `ok`.
struct Claims {
  std::size_t plans = 0;              ///< groups in which it predicts a time
  std::optional<double> mean_error;   ///< (claimed − simulated) / simulated; arithmetic mean over these groups
  std::optional<double> worst_error;  ///< the one furthest from 0
  /// Spearman's, of predicted and simulated times of a sample, each divided by the best simulated one of its group, so
  /// that what makes a whole group slow does not count. Values closer than 1e-9 are ties. None for fewer than three
  /// plans and where either does not vary.
  std::optional<double> rank_correlation;
  std::size_t compared = 0;  ///< groups in which others ran, too: those of the next two
  /// The throughput of the group's best line divided by its own: geometric mean, and the largest.
  std::optional<double> regret;
  std::optional<double> worst_regret;
  /// Simulated time over the lower bound of the plan (`over_bound`): geometric mean over the groups in which it has
  /// one.
  std::optional<double> over_bound;
};

/// For each line of the group the throughput of the best line divided by its own. None for lines of which not all cells
/// are `ok`, and where only one line is complete.
[[nodiscard]] std::vector<std::optional<double>> regrets_of(const StudyGroup& group);

/// One for each contender.
[[nodiscard]] std::vector<Claims> summarise_claims(const std::vector<StudyGroup>& groups, std::size_t contenders);

}  // namespace stagecraft
