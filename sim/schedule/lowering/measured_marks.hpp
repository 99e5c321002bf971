#pragma once

#include "sim/model/measurement.hpp"
#include "sim/schedule/lowering/window_writer.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace stagecraft {

/// Marks the ends of the microbatches that bound the two windows of the measured part of an asynchronous run
/// (docs/reference/report.md).
class MeasuredMarks {
 public:
  explicit MeasuredMarks(const Measurement& measured) : measured_(measured) {}

  /// `op` ends the microbatch's backward on one of the `runners` replicas that run it. The last call for a microbatch
  /// appends its mark.
  void note(WindowWriter& writer, std::uint32_t microbatch, OpId op, std::size_t runners);
  /// Microbatches that are under way are run again.
  void abandon() { backwards_.clear(); }
  [[nodiscard]] OpId oldest() const;

 private:
  Measurement measured_;
  std::map<std::uint32_t, std::vector<OpId>> backwards_;  ///< by microbatch: its backwards noted so far
};

}  // namespace stagecraft
