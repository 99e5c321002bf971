#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stagecraft {

/// What the program is doing, for whoever watches a long run: a text such as `planning with spp` and, where it is
/// known, how much of it is done. Activities that live at the same time lie within one another.
///
/// A signal handler may read them at any moment (`current_activity`). Without a watcher they do nothing.
class Activity {
 public:
  static constexpr std::size_t kMostText = 120;  ///< bytes; longer texts are cut

  explicit Activity(std::string_view text);
  ~Activity();
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;
  Activity(Activity&&) = delete;
  Activity& operator=(Activity&&) = delete;

  /// `parts` are done of `total`. `noun`, in the plural, has to live as long as the program.
  void count(std::uint64_t parts, std::uint64_t total, const char* noun);
  void count_failed(std::uint64_t parts) { failed_.store(parts, std::memory_order_relaxed); }

  [[nodiscard]] std::chrono::steady_clock::time_point start() const { return start_; }
  [[nodiscard]] const Activity* outer() const { return outer_; }
  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }
  [[nodiscard]] const char* noun() const { return noun_.load(std::memory_order_relaxed); }  ///< null without a count
  [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t total() const { return total_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const Activity* outer_;
  std::array<char, kMostText> text_{};
  std::size_t size_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<std::uint64_t> total_ = 0;
  std::atomic<std::uint64_t> failed_ = 0;
  std::atomic<const char*> noun_ = nullptr;
};

/// The innermost one; null if there is none.
[[nodiscard]] const Activity* current_activity();

}  // namespace stagecraft
