#pragma once

#include "sim/io/import_nvidia_topo.hpp"
#include "sim/io/topo_tree.hpp"
#include "sim/model/platform_spec.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace stagecraft {

/// NICs as one link to other nodes.
struct TopoPort {
  std::optional<std::size_t> gpu;  ///< that they belong to
  std::size_t place = 0;           ///< else where they are attached
  LinkSpec up;                     ///< to that GPU or place
  BytesPerSecond speed;            ///< of the NICs together
  std::vector<std::size_t> nics;   ///< in `TopoTree::nics`
};

/// The NICs that some GPU has nearest to it. NICs that several GPUs and nobody else have nearest are divided among
/// these; if they are fewer than the GPUs, they are one port with their bandwidths together. Any other NIC is a port of
/// its own.
[[nodiscard]] std::vector<TopoPort> ports_of(const TopoMatrix& matrix, const TopoTree& tree);

/// What all NVLinks of a node join.
enum class TopoNvLinks : std::uint8_t { Pairs, Switch };

/// What an explicit form is made of.
struct TopoParts {
  TopoNvLinks nvlinks = TopoNvLinks::Pairs;
  LinkSpec nvlink;               ///< one of them
  std::optional<TopoTree> tree;  ///< none: NVLinks join all GPUs
  std::vector<TopoPort> ports;   ///< with several nodes
  std::uint32_t nodes = 1;
};

/// Devices of kind 0, and links: NVLinks, the tree, and for several nodes their NICs at one switch that joins all.
/// Between GPUs of a node that no NVLink joins, routes lead over the tree and not over the switch between nodes.
/// **Requires** a tree and ports for several nodes. **Cost** O(nodes · GPUs² · depth of the tree).
[[nodiscard]] ExplicitForm explicit_nodes(const TopoMatrix& matrix, const TopoParts& parts);

}  // namespace stagecraft
