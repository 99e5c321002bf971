#pragma once

#include "sim/base/error.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// The XML of a node that NCCL and RCCL write to NCCL_TOPO_DUMP_FILE, or read from NCCL_TOPO_FILE. Bandwidths are those
/// of one direction.
struct NcclTopology {
  /// A NUMA node or a PCIe switch.
  struct Place {
    std::optional<std::size_t> above;    ///< in `places`; none: a NUMA node
    std::optional<BytesPerSecond> pcie;  ///< of the link to that place; none: not told
  };
  /// NVLinks or xGMI links to one other thing.
  struct Links {
    std::string target;      ///< its bus id
    bool is_switch = false;  ///< an NVSwitch
    std::int64_t count = 0;  ///< how many
    InputPlace place;
  };
  struct Gpu {
    std::string bus;
    std::size_t at = 0;                  ///< in `places`
    std::optional<BytesPerSecond> pcie;  ///< none: not told
    std::string architecture;            ///< `sm80`, `gfx90a`; empty: not told
    std::int64_t number = 0;             ///< CUDA's; else its place in the file
    std::vector<Links> links;
    InputPlace place;
  };
  struct Nic {
    std::string name;
    std::size_t at = 0;                   ///< in `places`
    std::optional<BytesPerSecond> pcie;   ///< none: not told
    std::optional<BytesPerSecond> speed;  ///< none: not told
    InputPlace place;
  };
  std::vector<Place> places;
  std::vector<Gpu> gpus;  ///< in the order of their numbers
  std::vector<Nic> nics;
  std::optional<BytesPerSecond> sockets;  ///< between two NUMA nodes; none: the file does not tell the processors
  bool tells_gpus = true;                 ///< false: GPUs by their class, so NVLinks are not told either
};

/// PCIe links carry what NCCL reckons with: of each lane 93.75 MB/s for a GT/s, in the first two generations 75 MB/s; a
/// width of 0 is 16 lanes. Links between NUMA nodes have NCCL's figures for the processors.
///
/// In a file without `<gpu>` the GPUs are the PCI devices of the classes 0x03 and 0x12, in one without `<net>` the NICs
/// are those of 0x02. Elements with names that are not NCCL's do not matter.
///
/// **Throws** InputError, naming the line, for text that is not XML, another root than `<system>`, several hosts, no
/// GPU, values that are none, GPUs whose numbers or bus ids are the same, elements of NCCL where it does not write
/// them, and devices below a GPU or NIC. **Cost** O(text).
/// **Source** NCCL, src/graph/{xml,topo}.{cc,h}: the meaning of elements, and the figures.
[[nodiscard]] NcclTopology parse_nccl_topology(std::string_view text, const std::string& file_name);

}  // namespace stagecraft
