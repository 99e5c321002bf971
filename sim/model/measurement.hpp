#pragma once

#include <cstdint>

namespace stagecraft {

/// The part of a run that the figures measure (docs/reference/report.md).
///
/// A synchronous run is measured between its last two `Barrier` operations, or from 0 to the only one. An asynchronous
/// run has two of them, which stand for c_i and c_j: the ends of the last backwards of microbatches i and j. A third
/// one may divide it into two windows, whose periods tell whether the run has converged.
struct Measurement {
  bool synchronous = true;
  std::int64_t microbatch_size = 1;
  std::int64_t microbatches = 1;  ///< synchronous: per iteration; asynchronous: j - i
  std::int64_t last = 0;          ///< asynchronous: j
  std::int64_t middle = 0;        ///< asynchronous: the last microbatch of the first window; i if there is only one
  std::int64_t stride = 1;  ///< asynchronous: a multiple of all replica counts, so that j - stride ran where j ran
  std::int64_t window = 0;  ///< microbatches of a window of `Course::windows`; 0: none are wanted
  [[nodiscard]] bool has_two_windows() const { return !synchronous && middle > last - microbatches; }
  friend bool operator==(const Measurement&, const Measurement&) = default;
};

}  // namespace stagecraft
