#pragma once

#include "sim/engine/time_window.hpp"

#include <cstdint>
#include <vector>

namespace stagecraft {

/// Sums amounts by account over the measured part of a run: its last complete iteration, or the window between two
/// barriers. Accounts are opened at any time.
class MeasuredSums {
 public:
  explicit MeasuredSums(bool synchronous) : synchronous_(synchronous) {}

  /// Opens `count` accounts, numbered from the result on.
  std::uint32_t open_accounts(std::uint32_t count);
  /// The end of the measured window is not before `at`, so pieces that end by then can be summed at once. Never
  /// decreases.
  void bound_end(Seconds at) { end_bound_ = at; }
  [[nodiscard]] Seconds end_bound() const { return end_bound_; }

  void add(const Piece& piece) {
    if (synchronous_) {
      present_[piece.account] += piece.amount;
    } else {
      window_.add(piece, end_bound_);
    }
  }
  /// Ends an iteration, or opens and then closes the window.
  void pass_barrier(Seconds at);

  [[nodiscard]] double sum(std::uint32_t account) const;
  /// The measured window of an asynchronous run.
  [[nodiscard]] const TimeWindow& window() const { return window_; }

 private:
  bool synchronous_;
  std::vector<double> present_;   ///< by account: sums of the present iteration
  std::vector<double> measured_;  ///< sums of the last complete iteration, for the accounts that were open at its end
  TimeWindow window_;
  Seconds end_bound_;
};

}  // namespace stagecraft
