#include "experiments/run/rank_correlation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace stagecraft {
namespace {

constexpr double kTied = 1e-9;  // relative; values that are closer differ by rounding only

/// The rank of each value, from 0; equal values get the mean of theirs. **Requires** values that are not negative.
std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && values[order[end]] <= values[order[first]] * (1 + kTied)) ++end;
    for (std::size_t i = first; i < end; ++i) result[order[i]] = static_cast<double>(first + end - 1) / 2.0;
  }
  return result;
}

}  // namespace

std::optional<double> rank_correlation(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < 3) return std::nullopt;
  const std::vector<double> x = ranks(a);
  const std::vector<double> y = ranks(b);
  const double mean = static_cast<double>(a.size() - 1) / 2.0;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean) * (x[i] - mean);
    xy += (x[i] - mean) * (y[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  if (xx == 0.0 || yy == 0.0) return std::nullopt;
  return xy / std::sqrt(xx * yy);
}

}  // namespace stagecraft
