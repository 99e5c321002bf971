#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/platform.hpp"

#include <vector>

namespace stagecraft {

/// Bytes that one place sends another.
struct TimedTransfer {
  PlaceId from;
  PlaceId to;
  Bytes bytes;
  Seconds start;
};

/// When each transfer ends if all of them share their links by max-min fairness, as in a replay in which nothing else
/// uses these links. The bytes follow the latency. An exclusive link, which transfers take one after the other, only
/// bounds the rate of each.
/// **Requires** connected places. **Cost** O(transfers · different rates · links on their ways), as often as a transfer
/// begins or ends.
[[nodiscard]] std::vector<Seconds> shared_ends(const Platform& platform, const std::vector<TimedTransfer>& transfers);

}  // namespace stagecraft
