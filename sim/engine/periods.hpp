#pragma once

#include "sim/engine/time_window.hpp"
#include "sim/model/report.hpp"

#include <cstddef>
#include <vector>

namespace stagecraft {

/// The lengths of a run's iterations, or of the two windows of an asynchronous run's measured part.
class Periods {
 public:
  [[nodiscard]] Seconds iteration_begin() const { return iteration_begin_; }
  void end_iteration(Seconds at) {
    iterations_.push_back(at - iteration_begin_);
    iteration_begin_ = at;
  }
  /// Only the first `count` iterations have been; the next one begins with the end of the last of them.
  void go_back(std::size_t count);
  /// The first of the two windows ends, and the second begins.
  void pass_middle(Seconds at) { middle_ = at; }

  [[nodiscard]] const std::vector<Seconds>& iterations() const { return iterations_; }
  /// How long the measured part took: the last iteration, or `whole`, the measured window of an asynchronous run.
  [[nodiscard]] MeasuredTime measured(const TimeWindow& whole) const {
    if (!iterations_.empty()) return {iterations_.back(), Seconds(0), Seconds(0)};
    return {whole.end() - whole.begin(), middle_ - whole.begin(), whole.end() - middle_};
  }

 private:
  std::vector<Seconds> iterations_;
  Seconds iteration_begin_;
  Seconds middle_;
};

}  // namespace stagecraft
