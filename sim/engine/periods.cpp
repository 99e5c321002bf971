#include "sim/engine/periods.hpp"

namespace stagecraft {

void Periods::go_back(std::size_t count) {
  for (; iterations_.size() > count; iterations_.pop_back()) iteration_begin_ -= iterations_.back();
}

std::optional<double> Periods::drift(const Measurement& measurement, const TimeWindow& whole) const {
  if (!measurement.has_two_windows()) return std::nullopt;
  const std::int64_t after = measurement.last - measurement.middle;
  const std::int64_t before = measurement.microbatches - after;
  const Seconds first = (middle_ - whole.begin()) / static_cast<double>(before);
  const Seconds second = (whole.end() - middle_) / static_cast<double>(after);
  return first > Seconds(0) ? second / first - 1.0 : 0.0;
}

}  // namespace stagecraft
