#pragma once

#include "sim/io/import_nvidia_topo.hpp"
#include "sim/model/platform_spec.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// The PCIe switches and sockets of a node, and what is attached to them. All sockets are linked with each other.
struct TopoTree {
  /// A place without a device.
  struct Place {
    std::optional<std::size_t> above;  ///< in `places`; none: a socket
    LinkSpec up;                       ///< to that place; unused for a socket
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Gpu {
    std::size_t place = 0;
    LinkSpec up;  ///< to that place
    friend bool operator==(const Gpu&, const Gpu&) = default;
  };
  struct Nic {
    std::string name;
    std::size_t place = 0;
    LinkSpec up;           ///< to that place
    BytesPerSecond speed;  ///< of the NIC itself
    friend bool operator==(const Nic&, const Nic&) = default;
  };
  std::vector<Place> places;
  std::vector<Gpu> gpus;
  std::vector<Nic> nics;
  LinkSpec socket_link;  ///< of two sockets
  friend bool operator==(const TopoTree&, const TopoTree&) = default;
};

/// The tree that paths imply, without its NICs: GPUs below switches (`pcie_switches`), switches below sockets
/// (`numa_nodes`), all links alike. **Throws** InputError for paths that contradict each other.
[[nodiscard]] TopoTree tree_of(const TopoMatrix& matrix, const LinkSpec& link);

/// The places from one up to its socket, both included.
[[nodiscard]] std::vector<std::size_t> way_up(const TopoTree& tree, std::size_t place);

/// How things at two places are connected: those at one switch by `Pix`, at one socket by `Phb`.
[[nodiscard]] TopoPath path_between(const TopoTree& tree, std::size_t a, std::size_t b);

/// The same tree with one switch less for each that joins nothing: a chain of links is the narrowest of them.
[[nodiscard]] TopoTree without_chains(TopoTree tree);

/// The tree as an interconnect of a node: if its switches and sockets have equal numbers of neighbours, and links of
/// one kind are alike. A GPU at a socket has a switch of its own.
[[nodiscard]] std::optional<Interconnect> regular_tree(const TopoTree& tree);

/// The link of GPUs to the host's memory, and how many neighbours share one.
struct TopoHostLink {
  BytesPerSecond bandwidth;  ///< the narrowest on the way of any GPU
  std::uint32_t shared_by = 1;
};
[[nodiscard]] TopoHostLink host_link(const TopoTree& tree);

}  // namespace stagecraft
