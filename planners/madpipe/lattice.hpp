#pragma once

#include "sim/base/ticks.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// The values that load, memory and delay of a state may have: any whole number, or the points of a grid. A coordinate
/// is the number itself or the index of a point. Arithmetic is exact and rounds up to the next point, also beyond the
/// range.
namespace stagecraft::madpipe {

/// Points i * range / (points - 1), which need not be whole numbers.
class GridAxis {
 public:
  /// **Requires** points >= 2, and that all coordinates are less than `extent`.
  GridAxis(std::int64_t range, int points, std::size_t extent)
      : per_unit_(range > 0 ? static_cast<double>(points - 1) / static_cast<double>(range) : 0.0) {
    const std::int64_t steps = points - 1;
    below_.reserve(extent);
    above_.reserve(extent);
    constexpr std::int64_t kFarthest = std::int64_t{1} << 61U;  // more than any sum of a chain
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(extent); ++i) {
      const std::int64_t rest = i * (range % steps);
      const bool is_far = range / steps > 0 && i > kFarthest / (range / steps);
      below_.push_back(is_far ? kFarthest : i * (range / steps) + rest / steps);
      above_.push_back(below_.back() + (is_far || rest % steps == 0 ? 0 : 1));
    }
  }

  [[nodiscard]] std::size_t extent() const { return below_.size(); }
  /// The value of a point, rounded up to a whole number.
  [[nodiscard]] std::int64_t value(std::int64_t point) const { return above_[static_cast<std::size_t>(point)]; }
  /// The first point that is no less than `value`. It is also the number of points by which a sum grows if `value` is
  /// added, since all steps of the grid are equal.
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
