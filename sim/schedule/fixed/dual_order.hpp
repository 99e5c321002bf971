#pragma once

#include "sim/model/schedule.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// A device of a schedule in which work comes from both ends: each device holds two stages, and in the steady part
/// forwards of one and backwards of the other run as pairs.
struct DualDevice {
  /// The stage whose microbatches come here first, then the other one. Each counts its own microbatches.
  std::array<std::int64_t, 2> stages{};
  std::int64_t depth = 0;   ///< the devices that the first stage's microbatches have passed before
  std::int64_t turn = 1;    ///< the devices after which they meet those of the other stage
  std::int64_t steady = 0;  ///< steps of two pairs
};

/// Its order: eight parts, of which the fourth one is steady.
/// **Source** DeepSeek-V3 Technical Report (2024) and its released schedules.
[[nodiscard]] std::vector<Action> dual_order(const DualDevice& device);

}  // namespace stagecraft
