#pragma once

#include "sim/workload/device.hpp"

#include <cstdint>

namespace stagecraft {

/// A generation of devices whose constants in 16 and 8 bit were fitted to published training steps.
enum class FittedKind { None, V100, A100, H100, B200, Gb200 };

/// Gives a device with so many multiprocessors the constants of a kind; with None it keeps what it has. `is_other`: the
/// device is not the one whose steps they were fitted to.
/// **Source** docs/explanation/cost-model.md.
void set_constants(DeviceDescription& device, FittedKind kind, std::int64_t processors, bool is_other);

}  // namespace stagecraft
