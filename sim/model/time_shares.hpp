#pragma once

#include "sim/model/report.hpp"

#include <vector>

namespace stagecraft {

/// What the measured time of a device consists of, each part with its share of it, the largest first; parts that took
/// no time are left out. `stage` is the stage that takes most of what the device computes.
[[nodiscard]] std::vector<Bottleneck> time_shares(const DeviceReport& device, StageId stage);

}  // namespace stagecraft
