#pragma once

#include "experiments/commands/verb.hpp"

#include <optional>
#include <string>

namespace stagecraft {

/// How a description of a node by another program is turned into a platform file. What the description does not say is
/// as the user typed it.
struct PlatformImport {
  std::string file;
  std::string device;  ///< kind of the GPUs, of the catalogue
  std::optional<std::string> nodes;
  std::optional<std::string> nic_bandwidth;
  std::optional<std::string> host_memory;
  std::optional<std::string> output;
};

/// The answer of `import nvidia-topo`: the text of the platform file, which says in comments where its numbers come
/// from; or a summary if it is written.
/// **Throws** InputError for a file that is no such matrix, and as `topo_platform`.
[[nodiscard]] Answer import_topo(const PlatformImport& import);

}  // namespace stagecraft
