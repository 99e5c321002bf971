#include "sim/schedule/fixed/round_groups.hpp"

#include <algorithm>

namespace stagecraft {

RoundGroups::Place RoundGroups::place(std::int64_t device, std::int64_t n, bool backward) const {
  const std::int64_t first = n / (group_ * pipeline_.chunks) * group_;  // microbatch of the group
  const std::int64_t size = std::min(group_, pipeline_.microbatches - first);
  const std::int64_t in_group = n - first * pipeline_.chunks;
  const std::int64_t turn = in_group / size;
  const std::int64_t chunk = backward ? pipeline_.chunks - 1 - turn : turn;
  return {chunk * pipeline_.devices + device, first + in_group % size};
}

}  // namespace stagecraft
