#include "sim/io/nccl_platform.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/topo_latencies.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

constexpr BytesPerSecond kPcie3{12e9};  ///< of 16 lanes, as NCCL reckons with where it is told nothing

using Counts = std::vector<std::vector<std::int64_t>>;  // [GPU][GPU]

/// The links of GPUs, as far as they lead to others of the file.
struct GpuLinks {
  Counts pairs;
  std::vector<std::int64_t> to_switch;  ///< by GPU
  std::int64_t elsewhere = 0;           ///< that lead to no other GPU of the file
};

void check_both_ways(const NcclTopology& topology, const Counts& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = 0; j < pairs.size(); ++j) {
      if (pairs[i][j] >= pairs[j][i]) continue;
      throw InputError("expected " + counted(pairs[j][i], "link") + " to " + topology.gpus[j].bus +
                           ", as that GPU has to this one, found " + std::to_string(pairs[i][j]),
                       topology.gpus[i].place, "links lead both ways");
    }
  }
}

void check_switches(const NcclTopology& topology, const GpuLinks& links) {
  for (std::size_t i = 0; i < links.to_switch.size(); ++i) {
    const auto direct = std::ranges::count_if(links.pairs[i], [](std::int64_t count) { return count > 0; });
    if (links.to_switch[i] == links.to_switch.front() && (direct == 0 || links.to_switch[i] == 0)) continue;
    throw InputError("expected all links of all GPUs to lead to other GPUs, or as many of each to switches, found " +
                         std::to_string(links.to_switch[i]) + " to switches, " +
                         std::to_string(links.to_switch.front()) + " of the first GPU",
                     topology.gpus[i].place);
  }
}

/// The number of the other GPU that the links lead to; none if they lead elsewhere.
std::optional<std::size_t> find_other(const NcclTopology& topology, const NcclTopology::Gpu& gpu,
                                      const NcclTopology::Links& links) {
  const auto target = std::ranges::find(topology.gpus, links.target, &NcclTopology::Gpu::bus);
  if (target == topology.gpus.end() || target->bus == gpu.bus) return std::nullopt;
  return static_cast<std::size_t>(target - topology.gpus.begin());
}

GpuLinks links_of(const NcclTopology& topology) {
  const std::size_t count = topology.gpus.size();
  GpuLinks links{Counts(count, std::vector<std::int64_t>(count)), std::vector<std::int64_t>(count), 0};
  for (std::size_t i = 0; i < count; ++i) {
    for (const NcclTopology::Links& link : topology.gpus[i].links) {
      const auto other = find_other(topology, topology.gpus[i], link);
      std::int64_t& sum = link.is_switch ? links.to_switch[i] : other ? links.pairs[i][*other] : links.elsewhere;
      sum += link.count;
    }
  }
  check_both_ways(topology, links.pairs);
  check_switches(topology, links);
  return links;
}

std::int64_t most_links(const NcclTopology& topology, const GpuLinks& links, const NcclMachine& machine) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < links.pairs.size(); ++i) {
    std::int64_t sum = links.to_switch[i];
    for (const std::int64_t count : links.pairs[i]) sum += count;
    most = std::max(most, sum);
    if (!machine.links || sum <= machine.links->nvlinks) continue;
    throw InputError("expected at most the " + counted(machine.links->nvlinks, "NVLink") + " of " + machine.kind.name +
                         ", found " + std::to_string(sum),
                     topology.gpus[i].place, "--device names the kind of the GPUs");
  }
  return most;
}

/// Refuses GPUs of several architectures, and of another one than the kind has.
void check_architectures(const NcclTopology& topology, const NcclMachine& machine) {
  const NcclTopology::Gpu& first = topology.gpus.front();
  for (const NcclTopology::Gpu& gpu : topology.gpus) {
    if (gpu.architecture == first.architecture) continue;
    throw InputError("expected GPUs of one kind, found " + quote(gpu.architecture) + ", and " +
                         quote(first.architecture) + " in line " + std::to_string(first.place.line),
                     gpu.place, "write a platform file with several kinds of devices");
  }
  if (!machine.links || first.architecture.empty() || first.architecture == machine.links->architecture) return;
  throw InputError("expected the " + quote(machine.links->architecture) + " of " + machine.kind.name + ", found " +
                       quote(first.architecture),
                   first.place, "--device names the kind of the GPUs");
}

/// What one link carries.
GpuLink link_rate(const NcclTopology& topology) {
  const NcclTopology::Gpu& gpu = topology.gpus.front();
  if (const auto link = find_gpu_link(gpu.architecture)) return *link;
  throw InputError(
      "expected a GPU whose links are known, found " +
          (gpu.architecture.empty() ? "neither 'sm' nor 'gcn'" : "the architecture " + quote(gpu.architecture)),
      gpu.place, "take the links out, and add them to the platform file");
}

TopoTree tree_of(const NcclTopology& topology, const NcclMachine& machine) {
  const BytesPerSecond usual = machine.links ? machine.links->pcie_reached : kPcie3;
  const auto link = [&](const std::optional<BytesPerSecond>& pcie) {
    return LinkSpec{pcie.value_or(usual), topo_latency::kPcie};
  };
  TopoTree tree;
  tree.socket_link = link(topology.sockets);
  for (const NcclTopology::Place& place : topology.places) tree.places.push_back({place.above, link(place.pcie)});
  for (const NcclTopology::Gpu& gpu : topology.gpus) tree.gpus.push_back({gpu.at, link(gpu.pcie)});
  for (const NcclTopology::Nic& nic : topology.nics) {
    const auto speed = nic.speed ? nic.speed : machine.nic;
    if (!speed) continue;
    const bool is_without_pcie = !nic.pcie && !topology.places[nic.at].above;
    tree.nics.push_back({nic.name, nic.at, link(is_without_pcie ? speed : nic.pcie), *speed});
  }
  return without_chains(std::move(tree));
}

const char* word_of(TopoPath path) {
  switch (path) {
    case TopoPath::Pix: return "PIX";
    case TopoPath::Pxb: return "PXB";
    case TopoPath::Phb: return "PHB";
    default: return "SYS";
  }
}

TopoMatrix paths_of(const NcclTopology& topology, const GpuLinks& links, const TopoTree& tree) {
  const std::size_t count = topology.gpus.size();
  TopoMatrix matrix;
  matrix.cpus.resize(count);
  for (const TopoTree::Nic& nic : tree.nics) matrix.nics.push_back(nic.name);
  for (std::size_t i = 0; i < count; ++i) {
    const InputPlace& place = topology.gpus[i].place;
    const auto cell = [&](std::size_t at) {
      const TopoPath path = path_between(tree, tree.gpus[i].place, at);
      return TopoCell{path, 0, word_of(path), place};
    };
    matrix.gpus.push_back(topology.gpus[i].bus);
    auto& row = matrix.gpu_gpu.emplace_back();
    for (std::size_t j = 0; j < count; ++j) {
      const std::int64_t nvlinks = links.to_switch[i] > 0 ? links.to_switch[i] : links.pairs[i][j];
      if (i == j) {
        row.push_back({TopoPath::Self, 0, "X", place});
      } else if (nvlinks > 0) {
        row.push_back({TopoPath::NvLink, nvlinks, "NV" + std::to_string(nvlinks), place});
      } else {
        row.push_back(cell(tree.gpus[j].place));
      }
    }
    auto& nics = matrix.gpu_nic.emplace_back();
    for (const TopoTree::Nic& nic : tree.nics) nics.push_back(cell(nic.place));
  }
  return matrix;
}

std::vector<std::string> remarks_on(const NcclTopology& topology, const GpuLinks& links, const TopoTree& tree,
                                    const NcclMachine& machine) {
  std::vector<std::string> remarks;
  if (!topology.tells_gpus) {
    remarks.emplace_back(
        "links of GPUs: none, for the file has no <gpu>; one that is written with NCCL_TOPO_DUMP_FILE has them");
  }
  if (links.elsewhere > 0) {
    remarks.push_back("links of GPUs: " + std::to_string(links.elsewhere) +
                      " are left out, for they lead to no other GPU of the file");
  }
  const bool tells_pcie = std::ranges::all_of(topology.gpus, [](const auto& gpu) { return gpu.pcie.has_value(); });
  const std::string usual = machine.links ? "of " + machine.kind.name : "3.0";
  remarks.push_back(std::string("PCIe: width and speed of the file, with the bandwidth that NCCL reckons with") +
                    (tells_pcie ? "" : "; where they are missing, PCIe " + usual + " x16"));
  if (topology.sockets) {
    remarks.push_back("links between NUMA nodes: " + format_bandwidth(tree.socket_link.bandwidth) +
                      ", which NCCL assumes of these processors");
  } else {
    remarks.push_back("links between NUMA nodes: " + format_bandwidth(tree.socket_link.bandwidth) + ", assumed");
  }
  if (tree.nics.size() < topology.nics.size()) {
    remarks.push_back("nic: " + counted(topology.nics.size() - tree.nics.size(), "NIC") +
                      " left out, for the file does not tell the speed; --nic-bandwidth gives it");
  }
  remarks.emplace_back("latencies: assumed");
  return remarks;
}

void check_nics(const NcclTopology& topology, const TopoTree& tree, const NcclMachine& machine) {
  const InputPlace option{"", 0, 0, "--nic-bandwidth"};
  if (machine.nic && topology.nics.empty()) {
    throw InputError("does not apply, for the file has no NICs", option,
                     "leave it out, and add NICs to the platform file");
  }
  if (machine.nic && std::ranges::all_of(topology.nics, [](const auto& nic) { return nic.speed.has_value(); })) {
    throw InputError("does not apply, for the file gives the speed of each NIC", option,
                     "leave it out; for another speed change the NICs in the platform file that is written");
  }
  if (machine.nodes == 1 || !tree.nics.empty()) return;
  if (topology.nics.empty()) {
    throw InputError("expected a node with NICs, found none", {"", 0, 0, "--nodes"},
                     "describe one node, and add its NICs to the platform file");
  }
  throw InputError("--nic-bandwidth is required for several nodes, for the file does not tell it",
                   topology.nics.front().place, "such as --nic-bandwidth 200Gbps");
}

}  // namespace

std::optional<std::string> why_pcie_alone(const NcclTopology& topology) {
  if (!topology.tells_gpus) return "the file does not tell how GPUs are linked with each other";
  bool has_links = false;
  for (const NcclTopology::Gpu& gpu : topology.gpus) {
    for (const NcclTopology::Links& link : gpu.links) {
      if (link.is_switch || find_other(topology, gpu, link)) return std::nullopt;
      has_links = true;
    }
  }
  if (!has_links) return std::nullopt;
  return "none of the links of GPUs in the file leads to another of its GPUs";
}

TopoPlatform nccl_platform(const NcclTopology& topology, const NcclMachine& machine) {
  check_architectures(topology, machine);
  const GpuLinks links = links_of(topology);
  const TopoTree tree = tree_of(topology, machine);
  check_nics(topology, tree, machine);
  TopoMachine node{machine.platform, machine.kind, {}, machine.nodes, std::nullopt, machine.host_memory};
  node.links.nvlinks = most_links(topology, links, machine);
  std::vector<std::string> remarks = remarks_on(topology, links, tree, machine);
  if (node.links.nvlinks > 0) {
    const GpuLink rate = link_rate(topology);
    node.links.nvlink = rate.bandwidth;
    remarks.insert(remarks.begin(),
                   "links of GPUs: " + format_bandwidth(rate.bandwidth) + " in each direction; " + rate.source);
  }
  TopoPlatform result = topo_platform(paths_of(topology, links, tree), tree, node);
  result.remarks.insert(result.remarks.begin(), remarks.begin(), remarks.end());
  return result;
}

}  // namespace stagecraft
