#pragma once

#include "sim/engine/time_window.hpp"
#include "sim/model/measurement.hpp"

#include <cstddef>
#include <optional>
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
  [[nodiscard]] Seconds measured(const TimeWindow& whole) const {
    return iterations_.empty() ? whole.end() - whole.begin() : iterations_.back();
  }
  /// By how much the period of the second window exceeds that of the first, as a part of it; none without two windows.
  [[nodiscard]] std::optional<double> drift(const Measurement& measurement, const TimeWindow& whole) const;

 private:
  std::vector<Seconds> iterations_;
  Seconds iteration_begin_;
  Seconds middle_;
};

}  // namespace stagecraft
