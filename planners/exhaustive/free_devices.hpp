#pragma once

#include "planners/shared/costs/alike_devices.hpp"
#include "sim/base/index.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <functional>
#include <vector>

namespace stagecraft::exhaustive {

/// All devices as if they were one run: stages take them in platform order.
[[nodiscard]] std::vector<NodeRuns> in_platform_order(const Platform& platform);

/// What stages have left of devices.
struct FreeDevices {
  std::vector<std::size_t> left;  ///< by run; the last ones of the run
  /// By node: whether it was used before the like one before it. Then a stage has to lie in both.
  std::vector<char> owes;
};

[[nodiscard]] FreeDevices all_free(const std::vector<NodeRuns>& nodes);

/// Whether stages may end here.
[[nodiscard]] bool may_stay(const FreeDevices& free);

/// Calls `use` with what is left after each choice of so many devices for a stage: those that take more of the first
/// runs come first.
void for_each_choice(const std::vector<NodeRuns>& nodes, const FreeDevices& free, std::size_t replicas,
                     const std::function<void(const FreeDevices&)>& use);

/// The devices that are free in `before` and not in `after`, ascending.
[[nodiscard]] std::vector<DeviceId> taken(const std::vector<NodeRuns>& nodes, const FreeDevices& before,
                                          const FreeDevices& after);

}  // namespace stagecraft::exhaustive
