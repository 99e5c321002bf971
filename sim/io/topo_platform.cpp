#include "sim/io/topo_platform.hpp"

#include "sim/base/counted.hpp"
#include "sim/base/text.hpp"
#include "sim/io/topo_groups.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace stagecraft {
namespace {

// Assumed, as in the platforms that come with the program.
constexpr Seconds kNvLinkLatency{2e-6};
constexpr Seconds kPcieLatency{1e-6};
constexpr Seconds kHostLatency{5e-6};
constexpr Seconds kNicLatency{5e-6};

LinkSpec nvlink(std::int64_t count, const DeviceLinks& links) {
  return {links.nvlink * static_cast<double>(count), kNvLinkLatency};
}

LinkSpec pcie_link(const DeviceLinks& links) { return {links.pcie_reached, kPcieLatency}; }

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

/// The tree, if its switches and sockets have equal numbers of neighbours.
std::optional<Interconnect> pcie_tree(const TopoMatrix& matrix, const DeviceLinks& links) {
  const TopoGroups switches = pcie_switches(matrix);
  const TopoGroups sockets = numa_nodes(matrix);
  TopoGroups socket_of_switch;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    if (switches[i] == socket_of_switch.size()) socket_of_switch.push_back(sockets[i]);
  }
  const auto per_switch = regular_size(switches);
  const auto per_socket = regular_size(socket_of_switch);
  if (!per_switch || !per_socket) return std::nullopt;
  PcieNode tree{*per_switch, pcie_link(links), 0, {}};
  if (*per_socket < socket_of_switch.size()) {
    tree.switches_per_socket = *per_socket;
    tree.socket_link = pcie_link(links);
  }
  return Interconnect{tree, pcie_link(links)};
}

struct TopoShape {
  std::optional<Interconnect> interconnect;  ///< of more than one GPU
  std::string remark;
};

/// What all GPUs of a node hang on, if one of the types of a node says it.
std::optional<TopoShape> shape_of(const TopoMatrix& matrix, const TopoMachine& machine) {
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
  const auto tree = pcie_tree(matrix, machine.links);
  if (!tree) return std::nullopt;
  return TopoShape{tree, "interconnect: no NVLinks; PIX and PXB share a switch, SYS is between sockets"};
}

NicSpec nic_of(const TopoMatrix& matrix, const TopoMachine& machine, std::vector<std::string>& remarks) {
  if (matrix.nics.empty()) {
    throw InputError("expected a matrix with NICs, found none", {"", 0, 0, "--nic-bandwidth"},
                     "leave it out, and describe the NICs in the platform file");
  }
  const TopoNics nearest = nearest_nics(matrix);
  std::string remark = "nic: " + counted(nearest.nics, "NIC") + " for " + counted(nearest.gpus, "GPU") +
                       ", each of the bandwidth that was given";
  for (const std::size_t nic : nearest.unused) remark += "; " + matrix.nics[nic] + " is left out";
  remarks.push_back(remark);
  NicSpec nic{{*machine.nic, kNicLatency}};
  if (nearest.nics == 1 && nearest.gpus == matrix.gpus.size()) return nic;
  nic.per_device = true;
  if (nearest.nics % nearest.gpus == 0) {
    nic.link.bandwidth = *machine.nic * static_cast<double>(nearest.nics / nearest.gpus);
  } else if (nearest.gpus % nearest.nics == 0) {
    nic.shared_by = nearest.gpus / nearest.nics;
  } else {
    const auto& cells = matrix.gpu_nic.front();
    throw InputError("expected as many NICs as GPUs, or one of the numbers to divide the other, found " +
                         counted(nearest.nics, "NIC") + " nearest to " + counted(nearest.gpus, "GPU"),
                     std::ranges::find(cells, nearest.path, &TopoCell::path)->place);
  }
  return nic;
}

HostSpec host_of(const TopoMatrix& matrix, const TopoMachine& machine, const NodeKind& node,
                 std::vector<std::string>& remarks) {
  HostSpec host{*machine.host_memory, std::nullopt};
  if (node.interconnect && std::holds_alternative<PcieNode>(node.interconnect->shape)) return host;
  host.link = LinkSpec{machine.links.pcie_reached, kHostLatency};
  const auto sharers = regular_size(pcie_switches(matrix));
  host.shared_by = sharers && matrix.gpus.size() % *sharers == 0 ? *sharers : 1;
  remarks.push_back("host: a link for every " + counted(host.shared_by, "GPU") +
                    ", which the NICs at PIX or PXB from both tell");
  return host;
}

/// Refuses what only nodes of a type can have.
void check_explicit(const TopoMatrix& matrix, const TopoMachine& machine) {
  if (machine.nodes == 1 && !machine.nic && !machine.host_memory) return;
  InputPlace place;
  for_each_pair(matrix, [&](auto, auto, const TopoCell& cell) {
    if (place.line == 0 && cell.text != matrix.gpu_gpu[0][1].text) place = cell.place;
  });
  throw InputError(
      "the GPUs are neither connected all alike, nor a cube mesh, nor a regular PCIe tree, so they are "
      "described link by link: for one node, without NIC and host",
      place, "leave out --nodes, --nic-bandwidth and --host-memory");
}

/// A chain of links from each GPU to its switch and on to its NUMA node, and a link between each two NUMA nodes.
void add_pcie_links(const TopoMatrix& matrix, const DeviceLinks& links, ExplicitForm& form) {
  const TopoGroups switches = pcie_switches(matrix);
  const TopoGroups sockets = numa_nodes(matrix);
  const std::uint32_t switch_count = *std::ranges::max_element(switches) + 1;
  const std::uint32_t socket_count = *std::ranges::max_element(sockets) + 1;
  for (std::uint32_t s = 0; s < switch_count; ++s) form.switches.push_back("pcie" + std::to_string(s));
  for (std::uint32_t s = 0; s < socket_count; ++s) form.switches.push_back("numa" + std::to_string(s));
  const auto add = [&](ExplicitEnd a, ExplicitEnd b) { form.links.push_back({"", {{a, b}}, pcie_link(links)}); };
  std::uint32_t next_switch = 0;
  for (std::size_t i = 0; i < switches.size(); ++i) {
    add(DeviceId(i), SwitchId(switches[i]));
    if (switches[i] == next_switch) add(SwitchId(next_switch++), SwitchId(switch_count + sockets[i]));
  }
  for (std::uint32_t a = 0; a < socket_count; ++a) {
    for (std::uint32_t b = a + 1; b < socket_count; ++b) add(SwitchId(switch_count + a), SwitchId(switch_count + b));
  }
}

ExplicitForm explicit_node(const TopoMatrix& matrix, const TopoMachine& machine) {
  check_explicit(matrix, machine);
  check_nvlinks(matrix, machine, false);
  ExplicitForm form;
  for (std::size_t i = 0; i < matrix.gpus.size(); ++i) {
    form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), std::nullopt});
  }
  bool is_full = true;
  for_each_pair(matrix, [&](std::size_t i, std::size_t j, const TopoCell& cell) {
    is_full = is_full && cell.nvlinks > 0;
    if (cell.nvlinks == 0) return;
    const ExplicitEnd from = DeviceId(i);
    const ExplicitEnd to = DeviceId(j);
    form.links.push_back({"", {{from, to}}, nvlink(cell.nvlinks, machine.links)});
  });
  if (!is_full) add_pcie_links(matrix, machine.links, form);
  return form;
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

}  // namespace

TopoPlatform topo_platform(const TopoMatrix& matrix, const TopoMachine& machine) {
  TopoPlatform result;
  result.remarks = remarks_on_links(machine.links);
  result.spec.name = machine.platform;
  result.spec.device_kinds.push_back(machine.kind);
  const auto shape = shape_of(matrix, machine);
  if (!shape) {
    result.spec.form = explicit_node(matrix, machine);
    result.remarks.emplace_back("links: between the GPUs with NV#; the others by their PCIe switches and NUMA nodes");
    return result;
  }
  result.remarks.push_back(shape->remark);
  NodeKind node{"node", DeviceKindId(0), static_cast<std::uint32_t>(matrix.gpus.size()), shape->interconnect, {}, {}};
  if (machine.host_memory) node.host = host_of(matrix, machine, node, result.remarks);
  if (machine.nic) node.nic = nic_of(matrix, machine, result.remarks);
  NodeForm form;
  form.groups = {{form.node_kinds.push_back(std::move(node)), machine.nodes}};
  result.spec.form = std::move(form);
  return result;
}

}  // namespace stagecraft
