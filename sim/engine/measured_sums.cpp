#include "sim/engine/measured_sums.hpp"

#include <utility>

namespace stagecraft {

std::uint32_t MeasuredSums::open_accounts(std::uint32_t count) {
  const std::size_t first = present_.size();
  present_.resize(first + count);
  return static_cast<std::uint32_t>(first);
}

void MeasuredSums::pass_barrier(Seconds at) {
  if (synchronous_) {
    const std::size_t accounts = present_.size();
    measured_ = std::exchange(present_, std::vector<double>(accounts));
  } else if (window_.is_open()) {
    window_.close(at);
  } else {
    window_.open(at);
  }
}

double MeasuredSums::sum(std::uint32_t account) const {
  if (!synchronous_) return window_.sum(account);
  return account < measured_.size() ? measured_[account] : 0.0;
}

}  // namespace stagecraft
