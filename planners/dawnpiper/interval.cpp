#include "planners/dawnpiper/interval.hpp"

#include <algorithm>

namespace stagecraft::dawnpiper {
namespace {

Interval positions_of_least(std::span<const double> values) {
  const double least = *std::ranges::min_element(values);
  const auto first = std::ranges::find(values, least);
  const auto last = std::ranges::find(values.rbegin(), values.rend(), least);
  return {static_cast<std::size_t>(first - values.begin()), static_cast<std::size_t>(last.base() - values.begin()) - 1};
}

}  // namespace

Interval theorem_interval(std::span<const double> compute, std::span<const double> memory) {
  const Interval balanced = positions_of_least(compute);
  const Interval level = positions_of_least(memory);
  return {std::min(balanced.first, level.first), std::max(balanced.last, level.last)};
}

Interval widened(Interval interval, std::size_t cuts, std::size_t count) {
  return {interval.first - std::min(cuts, interval.first), interval.last + std::min(cuts, count - 1 - interval.last)};
}

}  // namespace stagecraft::dawnpiper
