#include "sim/io/topo_platform.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/platform_topology.hpp"
#include "sim/io/topo_explicit.hpp"
#include "sim/io/topo_groups.hpp"
#include "sim/io/topo_latencies.hpp"

#include <algorithm>
#include <utility>

namespace stagecraft {
namespace {

LinkSpec nvlink(std::int64_t count, const DeviceLinks& links) {
  return {links.nvlink * static_cast<double>(count), topo_latency::kNvLink};
}

LinkSpec pcie_link(const DeviceLinks& links) { return {links.pcie_reached, topo_latency::kPcie}; }

/// Calls `take(i, j, cell)` for each pair of GPUs, i < j.
template <class Take>
void for_each_pair(const TopoMatrix& matrix, const Take& take) {
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    for (std::size_t j = i + 1; j < matrix.gpus.size(); ++j) take(i, j, matrix.gpu_gpu[i][j]);
  }
}

/// The NVLinks of every pair, if all pairs have as many.
std::optional<std::int64_t> equal_nvlinks(const TopoMatrix& matrix) {
  const std::int64_t count = matrix.gpu_gpu[0][1].nvlinks;
  bool is_equal = count > 0;
  for_each_pair(matrix, [&](auto, auto, const TopoCell& cell) { is_equal = is_equal && cell.nvlinks == count; });
  return is_equal ? std::optional(count) : std::nullopt;
}

bool has_nvlinks(const TopoMatrix& matrix) {
  bool has = false;
  for_each_pair(matrix, [&](auto, auto, const TopoCell& cell) { has = has || cell.nvlinks > 0; });
  return has;
}

/// Refuses more links than a GPU has: between two of them, or of all pairs together where each pair has its own.
void check_nvlinks(const TopoMatrix& matrix, const TopoMachine& machine, bool is_switched) {
  std::vector<std::int64_t> used(matrix.gpus.size());
  for_each_pair(matrix, [&](std::size_t i, std::size_t j, const TopoCell& cell) {
    used[i] = is_switched ? cell.nvlinks : used[i] + cell.nvlinks;
    used[j] = is_switched ? cell.nvlinks : used[j] + cell.nvlinks;
    const std::int64_t most = std::max(used[i], used[j]);
    if (most <= machine.links.nvlinks) return;
    throw InputError("expected at most the " + counted(machine.links.nvlinks, "NVLink") + " of " + machine.kind.name +
                         ", found " + std::to_string(most) + (is_switched ? "" : " with those before"),
                     cell.place, "--device names the kind of the GPUs");
  });
}

/// Eight GPUs of which each is linked with those of its half and with its counterpart in the other.
std::optional<CubeMeshNode> cube_mesh(const TopoMatrix& matrix) {
  constexpr std::size_t kHalf = 4;
  if (matrix.gpus.size() != 2 * kHalf) return std::nullopt;
  CubeMeshNode mesh;
  bool is_mesh = true;
  for_each_pair(matrix, [&](std::size_t i, std::size_t j, const TopoCell& cell) {
    const bool is_linked = i / kHalf == j / kHalf || i % kHalf == j % kHalf;
    is_mesh = is_mesh && (cell.nvlinks > 0) == is_linked && cell.nvlinks <= 2;
    if (cell.nvlinks == 2) mesh.doubled.emplace_back(i, j);
  });
  return is_mesh ? std::optional(mesh) : std::nullopt;
}

/// What is known of a node: paths alone, or also the tree that they are made of.
struct TopoNode {
  const TopoMatrix& matrix;
  const TopoMachine& machine;
  const TopoTree* given = nullptr;

  [[nodiscard]] TopoTree tree() const { return given != nullptr ? *given : tree_of(matrix, pcie_link(machine.links)); }
};

struct TopoShape {
  std::optional<Interconnect> interconnect;  ///< of more than one GPU
  std::string remark;
};

/// What all GPUs of a node hang on, if one of the types of a node says it.
std::optional<TopoShape> shape_of(const TopoNode& node) {
  const auto& [matrix, machine, given] = node;
  if (matrix.gpus.size() == 1) return TopoShape{std::nullopt, "interconnect: none, for a node has one GPU"};
  if (const auto count = equal_nvlinks(matrix)) {
    const bool is_switched = *count * (std::ssize(matrix.gpus) - 1) > machine.links.nvlinks;
    check_nvlinks(matrix, machine, is_switched);
    const std::string of_pair = "interconnect: NV" + std::to_string(*count) + " between all GPUs, ";
    if (!is_switched) return TopoShape{Interconnect{FullNode{}, nvlink(*count, machine.links)}, of_pair + "each pair"};
    return TopoShape{Interconnect{SwitchedNode{}, nvlink(*count, machine.links)}, of_pair + "so through a switch"};
  }
  if (const auto mesh = cube_mesh(matrix)) {
    check_nvlinks(matrix, machine, false);
    return TopoShape{Interconnect{*mesh, nvlink(1, machine.links)}, "interconnect: NV1, and NV2 between doubled pairs"};
  }
  if (has_nvlinks(matrix)) return std::nullopt;
  const auto tree = regular_tree(node.tree());
  if (!tree) return std::nullopt;
  return TopoShape{tree, "interconnect: no NVLinks; PIX and PXB share a switch, SYS is between sockets"};
}

/// The bandwidth of one NIC: as given, or of the NICs of the tree if all have the same.
std::optional<BytesPerSecond> nic_bandwidth(const TopoNode& node) {
  if (node.given == nullptr) return node.machine.nic;
  const auto bandwidth = [](const TopoTree::Nic& nic) { return std::min(nic.speed, nic.up.bandwidth); };
  const std::vector<TopoTree::Nic>& nics = node.given->nics;
  const bool is_alike =
      std::ranges::all_of(nics, [&](const TopoTree::Nic& nic) { return bandwidth(nic) == bandwidth(nics.front()); });
  return is_alike && !nics.empty() ? std::optional(bandwidth(nics.front())) : std::nullopt;
}

bool has_nics(const TopoNode& node) {
  return node.given != nullptr ? !node.given->nics.empty() : node.machine.nic.has_value();
}

/// The NIC of a type of node; or why no type has such NICs.
std::variant<NicSpec, InputError> nic_of(const TopoNode& node, std::vector<std::string>& remarks) {
  const TopoMatrix& matrix = node.matrix;
  const auto bandwidth = nic_bandwidth(node);
  if (!bandwidth) return InputError("the NICs differ in bandwidth");
  if (matrix.nics.empty()) {
    return InputError("expected a matrix with NICs, found none", {"", 0, 0, "--nic-bandwidth"},
                      "leave it out, and describe the NICs in the platform file");
  }
  const std::variant<TopoNics, InputError> found = regular_nics(matrix);
  if (const auto* uneven = std::get_if<InputError>(&found)) return *uneven;
  const TopoNics& nearest = std::get<TopoNics>(found);
  std::string remark = "nic: " + counted(nearest.nics, "NIC") + " for " + counted(nearest.gpus, "GPU") + ", each of " +
                       (node.given != nullptr ? format_bandwidth(*bandwidth) : "the bandwidth that was given");
  if (node.given != nullptr && *bandwidth < node.given->nics.front().speed) remark += " that its PCIe link carries";
  for (const std::size_t nic : nearest.unused) remark += "; " + matrix.nics[nic] + " is left out";
  NicSpec nic{{*bandwidth, topo_latency::kNic}};
  const bool is_of_node = nearest.nics == 1 && nearest.gpus == matrix.gpus.size();
  nic.per_device = !is_of_node;
  if (nearest.nics % nearest.gpus == 0) {
    const std::uint32_t of_gpu = nearest.nics / nearest.gpus;
    nic.link.bandwidth = *bandwidth * static_cast<double>(of_gpu);
  } else if (nearest.gpus % nearest.nics == 0) {
    nic.shared_by = is_of_node ? 1 : nearest.gpus / nearest.nics;
  } else {
    const auto& cells = matrix.gpu_nic.front();
    return InputError("expected as many NICs as GPUs, or one of the numbers to divide the other, found " +
                          counted(nearest.nics, "NIC") + " nearest to " + counted(nearest.gpus, "GPU"),
                      std::ranges::find(cells, nearest.path, &TopoCell::path)->place);
  }
  remarks.push_back(remark);
  return nic;
}

HostSpec host_of(const TopoNode& node, const NodeKind& kind, std::vector<std::string>& remarks) {
  HostSpec host{*node.machine.host_memory, std::nullopt};
  if (kind.interconnect && std::holds_alternative<PcieNode>(kind.interconnect->shape)) return host;
  const TopoHostLink link = host_link(node.tree());
  host.link = LinkSpec{link.bandwidth, topo_latency::kHost};
  host.shared_by = link.shared_by;
  remarks.push_back(
      "host: a link for every " + counted(host.shared_by, "GPU") + ", " +
      (node.given != nullptr ? "those at one PCIe switch" : "which the NICs at PIX or PXB from both tell"));
  return host;
}

/// Refuses what only nodes of a type can have.
void check_explicit(const TopoNode& node) {
  constexpr std::size_t kMostDevicesWithSwitches = 512;
  const TopoMachine& machine = node.machine;
  const std::size_t devices = node.matrix.gpus.size() * machine.nodes;
  if (node.given != nullptr && !machine.host_memory) {
    if (devices <= kMostDevicesWithSwitches) return;
    throw InputError("the nodes are irregular, so they are described link by link: expected at most " +
                         std::to_string(kMostDevicesWithSwitches) + " devices in all, found " + std::to_string(devices),
                     {"", 0, 0, "--nodes"}, kPart);
  }
  if (machine.nodes == 1 && !machine.nic && !machine.host_memory) return;
  InputPlace place;
  for_each_pair(node.matrix, [&](auto, auto, const TopoCell& cell) {
    if (place.line == 0 && cell.text != node.matrix.gpu_gpu[0][1].text) place = cell.place;
  });
  const bool is_tree = node.given != nullptr;
  throw InputError(std::string("the GPUs are neither connected all alike, nor a cube mesh, nor a regular PCIe tree, so "
                               "they are described link by link: ") +
                       (is_tree ? "without host" : "for one node, without NIC and host"),
                   place, is_tree ? "leave out --host-memory" : "leave out --nodes, --nic-bandwidth and --host-memory");
}

/// Every link of every node. Switches are those of NVLink if all GPUs have as many to one.
ExplicitForm explicit_form(const TopoNode& node, bool is_switched) {
  check_explicit(node);
  if (!is_switched) check_nvlinks(node.matrix, node.machine, false);
  TopoParts parts{is_switched ? TopoNvLinks::Switch : TopoNvLinks::Pairs, nvlink(1, node.machine.links), {}, {}, 1};
  bool is_full = true;
  for_each_pair(node.matrix, [&](auto, auto, const TopoCell& cell) { is_full = is_full && cell.nvlinks > 0; });
  if (!is_full || node.given != nullptr) parts.tree = node.tree();
  parts.nodes = node.machine.nodes;
  if (parts.nodes > 1) parts.ports = ports_of(node.matrix, *parts.tree);
  return explicit_nodes(node.matrix, parts);
}

std::vector<std::string> remarks_on_links(const DeviceLinks& links) {
  std::vector<std::string> remarks;
  if (links.nvlinks > 0) {
    remarks.push_back("NVLink: " + format_bandwidth(links.nvlink) + " in each direction; " + links.source);
  }
  remarks.push_back("PCIe " + std::to_string(links.pcie) + ".0 x16, and links between sockets: " +
                    format_bandwidth(links.pcie_reached) + " of " + format_bandwidth(links.pcie_rate) + ", assumed");
  remarks.emplace_back("latencies: assumed");
  return remarks;
}

/// The nodes as those of a type, with remarks; none if no type has such links or such NICs.
std::optional<NodeKind> kind_of(const TopoNode& node, const std::optional<TopoShape>& shape,
                                std::vector<std::string>& remarks) {
  if (!shape) return std::nullopt;
  std::vector<std::string> more{shape->remark};
  const auto gpus = static_cast<std::uint32_t>(node.matrix.gpus.size());
  NodeKind kind{"node", DeviceKindId(0), gpus, shape->interconnect, {}, {}};
  if (node.machine.host_memory) kind.host = host_of(node, kind, more);
  if (has_nics(node)) {
    const std::variant<NicSpec, InputError> nic = nic_of(node, more);
    if (const auto* even = std::get_if<NicSpec>(&nic)) {
      kind.nic = *even;
    } else if (node.given == nullptr) {
      throw InputError(std::get<InputError>(nic));
    } else if (node.machine.nodes > 1) {
      return std::nullopt;
    } else {
      more.emplace_back("nic: left out, for the GPUs differ in their NICs and one node needs none");
    }
  }
  remarks.insert(remarks.end(), more.begin(), more.end());
  return kind;
}

TopoPlatform platform_of(const TopoNode& node, std::vector<std::string> remarks) {
  const TopoMachine& machine = node.machine;
  TopoPlatform result;
  result.remarks = std::move(remarks);
  result.spec.name = machine.platform;
  result.spec.device_kinds.push_back(machine.kind);
  const auto shape = shape_of(node);
  if (auto kind = kind_of(node, shape, result.remarks)) {
    NodeForm form;
    form.groups = {{form.node_kinds.push_back(*std::move(kind)), machine.nodes}};
    result.spec.form = std::move(form);
    return result;
  }
  const bool is_switched =
      shape && shape->interconnect && std::holds_alternative<SwitchedNode>(shape->interconnect->shape);
  result.spec.form = explicit_form(node, is_switched);
  result.remarks.emplace_back("links: between the GPUs with NVLinks; the others by their PCIe switches and NUMA nodes");
  if (has_nics(node) && machine.nodes == 1) result.remarks.emplace_back("nic: left out, for one node needs none");
  return result;
}

}  // namespace

TopoPlatform topo_platform(const TopoMatrix& matrix, const TopoMachine& machine) {
  return platform_of({matrix, machine}, remarks_on_links(machine.links));
}

TopoPlatform topo_platform(const TopoMatrix& matrix, const TopoTree& tree, const TopoMachine& machine) {
  return platform_of({matrix, machine, &tree}, {});
}

}  // namespace stagecraft
