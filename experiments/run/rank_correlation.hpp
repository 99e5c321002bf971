#pragma once

#include <optional>
#include <vector>

namespace stagecraft {

/// Spearman's rank correlation: Pearson's of the ranks, values closer than 1e-9 sharing the mean of theirs. None
/// for fewer than three pairs and where one of the lists does not vary. **Requires** lists of one length, not negative.
/// **Cost** O(n log n).
[[nodiscard]] std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace stagecraft
