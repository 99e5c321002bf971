#pragma once

#include "sim/io/import_nvidia_topo.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace stagecraft {

/// By GPU, the number of its group. Groups are numbered in the order of their first GPUs.
using TopoGroups = std::vector<std::uint32_t>;

/// GPUs below one PCIe switch: with PIX or PXB between them; where NVLinks hide the path, with the same NIC at such a
/// distance. **Throws** InputError at a pair of a group that is farther apart.
[[nodiscard]] TopoGroups pcie_switches(const TopoMatrix& matrix);

/// GPUs of one NUMA node: with anything but SYS between them; where NVLinks hide the path, with the same affinity.
/// **Throws** InputError at a pair of a group that is farther apart.
[[nodiscard]] TopoGroups numa_nodes(const TopoMatrix& matrix);

/// The size of the groups if they are neighbours of equal number, of which only the last group may have fewer.
[[nodiscard]] std::optional<std::uint32_t> regular_size(const TopoGroups& groups);

/// The NICs that are nearest to neighbouring GPUs.
struct TopoNics {
  std::uint32_t gpus = 1;  ///< that have the same nearest NICs
  std::uint32_t nics = 1;  ///< how many these are
  TopoPath path = TopoPath::Sys;
  std::vector<std::size_t> unused;  ///< NICs that are nobody's nearest
};

/// By GPU, the NICs that are nearest to it. **Requires** a matrix with a NIC.
[[nodiscard]] std::vector<std::vector<std::size_t>> nearest_nics(const TopoMatrix& matrix);

/// How they are distributed; or an error at the first GPU whose NICs are not those of all of its neighbours, or are
/// more or fewer than those of the GPUs before. **Requires** a matrix with a NIC.
[[nodiscard]] std::variant<TopoNics, InputError> regular_nics(const TopoMatrix& matrix);

}  // namespace stagecraft
