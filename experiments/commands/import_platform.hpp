#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// How a description of a node or a network by another program is turned into a platform file. What the description
/// does not say is as the user typed it.
struct PlatformImport {
  std::string file;
  std::string device;  ///< kind of the GPUs: of the catalogue, or a device file
  std::optional<std::string> nodes;
  std::optional<std::string> nic_bandwidth;
  std::optional<std::string> host_memory;
  std::optional<std::string> output;
};

/// The answer of `import nvidia-topo`: the text of the platform file, which says in comments where its numbers come
/// from; or a summary if it is written.
/// **Throws** InputError for a file that is no such matrix, and as `topo_platform`.
[[nodiscard]] Answer import_topo(const PlatformImport& import);

/// The same of `import nccl-topology`. **Throws** InputError for a file that is no such XML, and as `nccl_platform`.
[[nodiscard]] Answer import_nccl_topology(const PlatformImport& import, const Settings& settings);

/// The same of `import simai-topo`, with the file, the device and the output alone. **Throws** as `parse_simai_topo`
/// and `simai_platform`.
[[nodiscard]] Answer import_simai_topo(const PlatformImport& import, const Settings& settings);

/// The same of `import astra-sim-network`. **Throws** as `parse_astra_network`, and for a network that no platform
/// describes.
[[nodiscard]] Answer import_astra_network(const PlatformImport& import, const Settings& settings);

}  // namespace stagecraft
