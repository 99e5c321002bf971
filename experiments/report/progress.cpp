#include "experiments/report/progress.hpp"

#include <algorithm>
#include <cstdio>

namespace stagecraft {

ProgressLine::~ProgressLine() {
  if (!has_shown_) return;
  std::fputs("\r\x1b[K", stderr);
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
