#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// Bounds of a confidence interval.
struct Interval {
  double low = 0.0;
  double high = 0.0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The mean of several paired ratios, with its confidence interval.
struct MeanRatio {
  double mean = 1.0;                 ///< geometric
  std::optional<Interval> interval;  ///< of 95 % confidence; none for one ratio and for ratios that do not vary
  std::size_t pairs = 0;
  friend bool operator==(const MeanRatio&, const MeanRatio&) = default;
};

/// The t that a variable of Student's distribution exceeds in absolute value with probability 5 %.
/// **Requires** at least one degree of freedom. **Cost** O(degrees).
/// **Source** Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4, solved by bisection.
[[nodiscard]] double student_t_95(std::int64_t degrees);

/// The geometric mean and the interval exp(m ± t s / √n) of the logarithms' mean m, deviation s and number n, t being
/// that of n − 1 degrees of freedom. Ratios that differ by rounding only (1e-12) do not vary. None without ratios.
/// **Requires** positive ratios.
[[nodiscard]] std::optional<MeanRatio> mean_ratio(const std::vector<double>& ratios);

}  // namespace stagecraft
