#include "sim/schedule/list/even_limits.hpp"

#include <algorithm>

namespace stagecraft {

std::vector<std::int64_t> even_limits(std::int64_t most, std::int64_t count) {
  count = std::clamp<std::int64_t>(count, 1, most);
  std::vector<std::int64_t> limits;
  for (std::int64_t i = 1; i <= count; ++i) limits.push_back((most * i + count - 1) / count);
  return limits;
}

}  // namespace stagecraft
