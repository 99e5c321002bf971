#pragma once

#include "sim/base/error.hpp"
#include "sim/model/platform_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The network that SimAI and its front end of ns-3 read: GPUs, switches and the links between them.
struct SimaiTopology {
  enum class Kind : std::uint8_t { Gpu, NvSwitch, Switch };
  struct Link {
    std::size_t a = 0;  ///< in `nodes`
    std::size_t b = 0;  ///< in `nodes`
    LinkSpec link;      ///< full duplex
    InputPlace place;
  };
  std::string gpu_type;             ///< as written
  std::size_t gpus_per_server = 1;  ///< in the order of their numbers; divides the number of GPUs
  std::vector<Kind> nodes;          ///< by number
  std::vector<Link> links;
  bool has_errors = false;  ///< a link loses packets
};

/// **Throws** InputError, at line and column, for words that are not what the first line announces, numbers of nodes
/// that are too large, a switch named twice, a pair of nodes linked twice, a link of a node to itself or between two
/// GPUs, no GPU, servers that are not whole, and nodes without a link. **Cost** O(text + links · log links).
/// **Source** SimAI, astra-sim-alibabacloud, astra-sim/network_frontend/ns3/common.h: `SetupNetwork`.
[[nodiscard]] SimaiTopology parse_simai_topo(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
