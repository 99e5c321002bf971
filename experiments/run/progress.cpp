#include "experiments/run/progress.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

namespace stagecraft {
namespace {

void wipe_line() {
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::min(std::ceil(seconds), 1e9));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

}  // namespace

ProgressLine::~ProgressLine() {
  if (has_shown_) wipe_line();
}

PartsProgressLine::~PartsProgressLine() {
  if (has_shown_) wipe_line();
}

TextProgressLine::~TextProgressLine() {
  if (has_shown_) wipe_line();
}

void TextProgressLine::show(const std::string& text) {
  if (!is_shown_) return;
  has_shown_ = true;
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
}

void PartsProgressLine::show(std::size_t done, std::size_t total, std::size_t failed) {
  const auto now = std::chrono::steady_clock::now();
  if (!is_shown_ || (has_shown_ && now - last_ < std::chrono::milliseconds(100))) return;
  has_shown_ = true;
  last_ = now;
  std::string text = std::to_string(done) + " of " + std::to_string(total) + " " + parts_;
  if (failed > 0) text += ", " + std::to_string(failed) + " failed";
  if (done > 0 && done < total) {
    const double spent = std::chrono::duration<double>(now - start_).count();
    text += ", " + clock_text(spent / static_cast<double>(done) * static_cast<double>(total - done)) + " left";
  }
  std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
  std::fflush(stderr);
}

void ProgressLine::show(std::uint64_t done) {
  if (!is_shown_ || total_ == 0) return;
  has_shown_ = true;
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  std::fprintf(stderr, "\rreplay: %3.0f %% of %.3g operations", 100.0 * share, static_cast<double>(total_));
  std::fflush(stderr);
}

}  // namespace stagecraft
