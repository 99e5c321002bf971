#pragma once

#include "sim/io/yaml_node.hpp"
#include "sim/model/platform_spec.hpp"

#include <cstdint>

namespace stagecraft {

// The parts of a platform file that describe the links between devices and between nodes; for `parse_platform`.

inline constexpr std::int64_t kMostDevices = 100'000;
inline constexpr std::uint64_t kMostLinks = 400'000;  ///< with these and all devices, a description takes about 1 GB
inline constexpr const char* kPart = "describe a part of the cluster";  ///< the hint for more

/// A bandwidth from 1 Bps to 1e18 Bps, so that times can be computed with it.
[[nodiscard]] BytesPerSecond read_usable_bandwidth(const YamlNode& node);

/// The keys of a link that every form has; the caller lists the allowed keys.
[[nodiscard]] LinkSpec read_link(const YamlNode& node);

/// A link without further keys.
[[nodiscard]] LinkSpec read_whole_link(const YamlNode& node);

/// With a PCIe tree above the devices, they need no link of their own to the host.
[[nodiscard]] HostSpec read_host(const YamlNode& node, bool has_tree);

/// **Throws** InputError for keys that the type does not have, and for a type that cannot join so many devices.
[[nodiscard]] Interconnect read_interconnect(const YamlNode& node, std::uint32_t device_count);

/// **Throws** InputError for keys that the type does not have, and for sizes that are not those of so many nodes.
[[nodiscard]] Network read_network(const YamlNode& node, std::uint32_t node_count);

/// **Throws** InputError, at the network's place, for a network that cannot connect nodes: no node has a NIC, or the
/// uplinks of a fat tree would be narrower than any link may be.
void check_network(const YamlNode& node, const NodeForm& form);

}  // namespace stagecraft
