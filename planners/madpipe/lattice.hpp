#pragma once

#include "sim/base/ticks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

/// What values the load, memory and delay of a state may have: any, or the points of a grid. A coordinate is a number
/// of either kind; all arithmetic on it is exact and rounds up to the next point, also beyond the range.
namespace stagecraft::madpipe {

/// Points i * range / (points - 1), which need not be whole numbers.
class GridAxis {
 public:
  /// **Requires** points >= 2, and that no coordinate of `extent` or more is ever asked for.
  GridAxis(std::int64_t range, int points, std::size_t extent)
      : per_unit_(range > 0 ? static_cast<double>(points - 1) / static_cast<double>(range) : 0.0) {
    const std::int64_t steps = points - 1;
    below_.reserve(extent);
    above_.reserve(extent);
    constexpr std::int64_t kFarthest = std::int64_t{1} << 61U;  // no sum of a chain comes so far
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(extent); ++i) {
      const std::int64_t rest = i * (range % steps);
      const bool is_far = range / steps > 0 && i > kFarthest / (range / steps);
      below_.push_back(is_far ? kFarthest : i * (range / steps) + rest / steps);
      above_.push_back(below_.back() + (is_far || rest % steps == 0 ? 0 : 1));
    }
  }

  [[nodiscard]] std::size_t extent() const { return below_.size(); }
  /// Of a point, rounded up to a whole number.
  [[nodiscard]] std::int64_t value(std::int64_t point) const { return above_[static_cast<std::size_t>(point)]; }
  /// The first point that is no less than `value`; also how many points further a sum is, if `value` is added.
  [[nodiscard]] std::int64_t point(std::int64_t value) const {
    if (value <= 0) return 0;
    auto guess = static_cast<std::size_t>(static_cast<double>(value) * per_unit_);
    if (guess >= below_.size()) guess = below_.size() - 1;
    while (guess + 1 < below_.size() && below_[guess] < value) ++guess;
    while (guess > 0 && below_[guess - 1] >= value) --guess;
    return static_cast<std::int64_t>(guess);
  }

 private:
  double per_unit_;
  std::vector<std::int64_t> below_;  // rounded down
  std::vector<std::int64_t> above_;  // rounded up
};

/// Every whole number is a point.
struct ExactAxis {
  [[nodiscard]] static std::int64_t value(std::int64_t point) { return point; }
  [[nodiscard]] static std::int64_t point(std::int64_t value) { return value; }
};

template <class Axis>
struct Lattice {
  Axis load;
  Axis memory;
  Axis delay;
};

}  // namespace stagecraft::madpipe
