#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

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

/// The same with a text that changes.
class TextProgressLine {
 public:
  /// Shows nothing unless `is_shown`.
  explicit TextProgressLine(bool is_shown) : is_shown_(is_shown) {}
  TextProgressLine(const TextProgressLine&) = delete;
  TextProgressLine& operator=(const TextProgressLine&) = delete;
  TextProgressLine(TextProgressLine&&) = delete;
  TextProgressLine& operator=(TextProgressLine&&) = delete;
  ~TextProgressLine();

  void show(const std::string& text);

 private:
  bool is_shown_;
  bool has_shown_ = false;
};

/// The same for equal parts of a task, such as the cells of a study, with an estimate of the time left, from the mean
/// time per part so far.
class PartsProgressLine {
 public:
  /// Shows nothing unless `is_shown`.
  PartsProgressLine(bool is_shown, std::string parts) : is_shown_(is_shown), parts_(std::move(parts)) {}
  PartsProgressLine(const PartsProgressLine&) = delete;
  PartsProgressLine& operator=(const PartsProgressLine&) = delete;
  PartsProgressLine(PartsProgressLine&&) = delete;
  PartsProgressLine& operator=(PartsProgressLine&&) = delete;
  ~PartsProgressLine();

  void show(std::size_t done, std::size_t total, std::size_t failed);

 private:
  bool is_shown_;
  std::string parts_;  ///< what the parts are called
  bool has_shown_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_ = start_;
};

}  // namespace stagecraft
