#pragma once

#include "sim/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// How two places of a node are connected, the nearest first.
enum class TopoPath : std::uint8_t {
  Self,
  NvLink,  ///< NV#
  Pix,     ///< over at most one PCIe bridge
  Pxb,     ///< over several PCIe bridges, but no host bridge
  Phb,     ///< over a PCIe host bridge
  Node,    ///< over two host bridges of a NUMA node
  Sys,     ///< from one NUMA node to another
};

/// One entry of a matrix.
struct TopoCell {
  TopoPath path = TopoPath::Self;
  std::int64_t nvlinks = 0;  ///< with `NvLink`: how many
  std::string text;          ///< as written
  InputPlace place;
};

/// What `nvidia-smi topo -m` prints: how each pair of a node's GPUs and NICs is connected.
struct TopoMatrix {
  std::vector<std::string> gpus;               ///< names
  std::vector<std::string> nics;               ///< names
  std::vector<std::vector<TopoCell>> gpu_gpu;  ///< [row][column]; symmetric
  std::vector<std::vector<TopoCell>> gpu_nic;  ///< [GPU][NIC]
  std::vector<std::string> cpus;               ///< by GPU, the affinity as written; empty if it is not there
};

/// What stands before the matrix and after it, such as a prompt and the legend, is not read; nor are escape sequences
/// of a terminal, and the affinities of NICs. **Throws** InputError naming row and column of the first entry that is
/// none, or that contradicts its mirror image, and for a matrix without GPUs, with a row missing, or of more than 512
/// places. **Cost** O(text + places²).
/// **Source** the legend that the program prints.
[[nodiscard]] TopoMatrix parse_nvidia_topo(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
