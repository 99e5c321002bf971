#pragma once

#include <cstdint>

namespace stagecraft {

/// A line on standard error that tells how far a run has come; rewritten in place, wiped when the run ends.
class ProgressLine {
 public:
  /// Shows nothing unless `is_shown`.
  ProgressLine(bool is_shown, std::uint64_t total) : is_shown_(is_shown), total_(total) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;
  ~ProgressLine();

  void show(std::uint64_t done);

 private:
  bool is_shown_;
  bool has_shown_ = false;
  std::uint64_t total_;
};

}  // namespace stagecraft
