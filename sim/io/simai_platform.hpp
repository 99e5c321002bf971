#pragma once

#include "sim/io/import_simai_topo.hpp"
#include "sim/io/topo_platform.hpp"

#include <string>

namespace stagecraft {

/// The platform of such a network. Switches with the same links are one, whose links have the bandwidths of all
/// together: SimAI spreads flows over equally short ways. Then servers behind NVSwitches are nodes with a NIC for each
/// GPU, if all are alike and their network is one switch, rails below a spine, or leaf switches of whole servers below
/// a spine. Any other network is an explicit form with all links; a pair takes the first of its shortest ways.
/// **Throws** InputError for more than 512 GPUs of such a network, and more than 100,000 of any. **Cost**
/// O(links · log links · levels of switches).
[[nodiscard]] TopoPlatform simai_platform(const SimaiTopology& topology, const std::string& name,
                                          const DeviceKind& kind);

}  // namespace stagecraft
