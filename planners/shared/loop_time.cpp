#include "planners/shared/loop_time.hpp"

#include <algorithm>
#include <cstddef>

namespace stagecraft {

Seconds loop_time(std::span<const LoopStage> stages) {
  Seconds longest{0};
  for (std::size_t first = 0; first < stages.size(); ++first) {
    Seconds sum = stages[first].compute;
    longest = std::max(longest, sum);
    for (std::size_t last = first + 1; last < stages.size(); ++last) {
      if (stages[last - 1].in_flight <= stages[last].in_flight) break;
      sum += stages[last - 1].transfer * 2.0 + stages[last].compute;
      const std::int64_t steps = stages[first].in_flight - stages[last].in_flight + 1;
      longest = std::max(longest, sum / static_cast<double>(steps));
    }
  }
  return longest;
}

}  // namespace stagecraft
