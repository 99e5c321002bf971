#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <cstdint>
#include <string>

namespace stagecraft {

/// What a profile is of whose sizes alone count.
struct SizedProfile {
  std::string device_kind;
  Precision precision = Precision::Fp32;
  std::int64_t samples = 1;  ///< of a microbatch
};

/// The profile of a network with blocks as layers on a device of all precisions. The sizes of a network for sequences
/// do not depend on the device; the times are of no use.
/// **Requires** samples > 0. **Throws** InputError where the network is too large (`build_model`).
[[nodiscard]] LayerGraph sized_graph(const Architecture& network, const SizedProfile& profile);

}  // namespace stagecraft
