#include "experiments/study_report/mean_ratio.hpp"

#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stagecraft {
namespace {

/// The probability that |T| is at most √degrees tan(angle) for T of Student's distribution: the finite series in powers
/// of cos(angle) of Abramowitz and Stegun, 26.7.3 for odd and 26.7.4 for even degrees of freedom.
double probability_within(double angle, std::int64_t degrees) {
  const double cosine = std::cos(angle);
  const bool is_odd = degrees % 2 != 0;
  double term = is_odd ? cosine : 1.0;
  double sum = degrees == 1 ? 0.0 : term;
  for (std::int64_t i = is_odd ? 3 : 2; i <= degrees - 2; i += 2) {  // term of cosine^i
    const auto power = static_cast<double>(i);
    term *= cosine * cosine * (power - 1.0) / power;
    sum += term;
  }
  const double series = std::sin(angle) * sum;
  return is_odd ? 2.0 / std::numbers::pi * (angle + series) : series;
}

}  // namespace

double student_t_95(std::int64_t degrees) {
  STAGECRAFT_CHECK(degrees >= 1, "a deviation needs two values");
  constexpr int kHalvings = 60;
  double low = 0.0;
  double high = std::numbers::pi / 2.0;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2.0;
    (probability_within(middle, degrees) < 0.95 ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(degrees)) * std::tan((low + high) / 2.0);
}

std::optional<MeanRatio> mean_ratio(const std::vector<double>& ratios) {
  constexpr double kLeastSpread = 1e-12;
  if (ratios.empty()) return std::nullopt;
  const auto count = static_cast<double>(ratios.size());
  double sum = 0.0;
  for (double ratio : ratios) {
    STAGECRAFT_CHECK(ratio > 0.0, "a ratio of throughputs is positive");
    sum += std::log(ratio);
  }
  const double mean = sum / count;
  const auto [least, greatest] = std::ranges::minmax(ratios);
  if (greatest - least <= kLeastSpread * greatest) return MeanRatio{ratios.front(), std::nullopt, ratios.size()};
  double squares = 0.0;
  for (double ratio : ratios) squares += (std::log(ratio) - mean) * (std::log(ratio) - mean);
  const double error = std::sqrt(squares / (count - 1.0) / count);
  const double reach = student_t_95(static_cast<std::int64_t>(ratios.size()) - 1) * error;
  return MeanRatio{std::exp(mean), Interval{std::exp(mean - reach), std::exp(mean + reach)}, ratios.size()};
}

}  // namespace stagecraft
