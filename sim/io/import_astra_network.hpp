#pragma once

#include "sim/io/topo_platform.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The network of ASTRA-sim's analytical backends: a grid of NPUs, of which each row along a dimension is connected by
/// itself.
struct AstraNetwork {
  enum class Shape : std::uint8_t { Ring, FullyConnected, Switch };
  struct Dimension {
    Shape shape = Shape::Ring;
    std::uint32_t count = 2;  ///< NPUs of a row
    LinkSpec link;            ///< of two neighbours or a pair; to the switch
    friend bool operator==(const Dimension&, const Dimension&) = default;
  };
  std::vector<Dimension> dimensions;  ///< the first varies fastest with an NPU's number
};

/// A bandwidth of 1 GB/s is 2^30 B/s, as these backends reckon. **Throws** InputError, naming line and key, for other
/// keys than `topology`, `npus_count`, `bandwidth` and `latency`, lists of different lengths, values out of range, and
/// more than 100,000 NPUs.
/// **Source** astra-network-analytical, common/network-parser/NetworkParser.cpp, common/NetworkFunction.cpp.
[[nodiscard]] AstraNetwork parse_astra_network(std::string_view text, const std::string& file_name);

/// Whether `astra_platform` describes it: one dimension, a second one with switches, or at most `kMostAstraRouted`
/// NPUs.
[[nodiscard]] bool is_astra_platform(const AstraNetwork& network);
inline constexpr std::uint32_t kMostAstraRouted = 256;

/// The platform: NPUs of one dimension are a node. With a second dimension of switches each has a NIC to one switch for
/// all. Any other network is an explicit form, in which NPUs of the first dimension are a node and routes lead along
/// the dimensions in their order; in a ring the shorter way, of equal ones that of increasing numbers. Remarks tell the
/// dimensions inside nodes.
/// **Requires** `is_astra_platform`. **Cost** O(NPUs² · hops) of an explicit form.
[[nodiscard]] TopoPlatform astra_platform(const AstraNetwork& network, const std::string& name, const DeviceKind& kind);

}  // namespace stagecraft
