#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace stagecraft {

/// A line on standard error with the progress of a run. It is rewritten in place and removed when the run ends.
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

/// The same for the cells of a study, with an estimate of the time left, from the mean time per cell so far.
class StudyProgressLine {
 public:
  /// Shows nothing unless `is_shown`.
  explicit StudyProgressLine(bool is_shown) : is_shown_(is_shown) {}
  StudyProgressLine(const StudyProgressLine&) = delete;
  StudyProgressLine& operator=(const StudyProgressLine&) = delete;
  StudyProgressLine(StudyProgressLine&&) = delete;
  StudyProgressLine& operator=(StudyProgressLine&&) = delete;
  ~StudyProgressLine();

  void show(std::size_t done, std::size_t total, std::size_t failed);

 private:
  bool is_shown_;
  bool has_shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace stagecraft
