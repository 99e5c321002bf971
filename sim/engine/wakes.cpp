#include "sim/engine/wakes.hpp"

#include <algorithm>

namespace stagecraft {

void Wakes::put_off(const Wake& wake, Seconds until) {
  wakes_.emplace(next_token_, wake);
  clock_.wake_at(next_token_++, until);
}

std::vector<Wake> Wakes::take_rung() {
  std::vector<Wake> result;
  std::ranges::sort(rung_);
  for (std::uint64_t token : rung_) {
    const auto found = wakes_.find(token);
    if (found == wakes_.end()) continue;
    result.push_back(found->second);
    wakes_.erase(found);
  }
  rung_.clear();
  return result;
}

}  // namespace stagecraft
