#include "sim/io/import_nccl_topology.hpp"

#include "sim/base/text.hpp"
#include "sim/io/nccl_figures.hpp"
#include "sim/io/xml_element.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace stagecraft {
namespace {

constexpr std::size_t kMostTopologyDevices = 512;  ///< GPUs and NICs
constexpr std::size_t kMostTopologyPlaces = 10'000;
constexpr int kDeepestPci = 64;
constexpr std::int64_t kMostMegabits = 1'000'000'000;
constexpr std::int64_t kMostTopologyLinks = 1000;
constexpr const char* kTopologyHint = "the file is what NCCL or RCCL writes to NCCL_TOPO_DUMP_FILE";

/// The elements that an element of this name may stand in; none: it is not read.
std::vector<std::string> parents_of(const std::string& name) {
  if (name == "cpu") return {"system"};
  if (name == "pci" || name == "nic") return {"cpu", "pci"};
  if (name == "gpu") return {"pci"};
  if (name == "net") return {"nic"};
  if (name == "nvlink" || name == "xgmi") return {"gpu"};
  return {};
}

/// Refuses elements that would be left out because of where they stand.
void check_parents(const XmlElement& root) {
  std::vector<std::pair<XmlElement, std::string>> pending{{root, ""}};  // with the name of the element above
  while (!pending.empty()) {
    const auto [element, above] = pending.back();
    pending.pop_back();
    const std::vector<std::string> parents = parents_of(element.name());
    if (!parents.empty() && std::ranges::find(parents, above) == parents.end()) {
      element.fail("expected <" + element.name() + "> in <" + fmt::format("{}", fmt::join(parents, "> or <")) +
                   ">, found it in <" + above + ">");
    }
    std::vector<XmlElement> children = element.children();
    std::ranges::reverse(children);
    for (const XmlElement& child : children) pending.emplace_back(child, element.name());
  }
}

/// Whether an element of that name is somewhere below.
bool has_below(const XmlElement& element, const std::string& name, int depth = 0) {
  return depth < kDeepestPci &&
         std::ranges::any_of(
             element.children(),
             [&](const XmlElement& child) { return child.name() == name || has_below(child, name, depth + 1); });
}

std::string gpu_architecture(const XmlElement& gpu) {
  const auto gcn = gpu.find("gcn");
  if (gcn && gcn->starts_with("gfx")) return gcn->substr(0, gcn->find(':'));
  if (gcn == "910") return "gfx90a";  // as HIP numbers it
  if (gcn) return "gfx" + *gcn;
  const auto sm = gpu.find("sm");
  return sm ? "sm" + *sm : "";
}

class TopologyReader {
 public:
  explicit TopologyReader(const XmlElement& root) : root_(root) {
    if (root.name() == "system") return;
    root.fail("expected <system>, found <" + root.name() + ">", kTopologyHint);
  }

  NcclTopology read() {
    check_parents(root_);
    topology_.tells_gpus = has_below(root_, "gpu");
    tells_nets_ = has_below(root_, "net");
    for (const XmlElement& cpu : root_.children()) {
      if (cpu.name() == "cpu") read_cpu(cpu);
    }
    if (topology_.gpus.empty()) {
      root_.fail("expected a node with a GPU, found neither <gpu> nor a device of class 0x03", kTopologyHint);
    }
    std::ranges::stable_sort(topology_.gpus, {}, &NcclTopology::Gpu::number);
    for (std::size_t i = 1; i < topology_.gpus.size(); ++i) check_number(topology_.gpus[i - 1], topology_.gpus[i]);
    return std::move(topology_);
  }

 private:
  using Bandwidth = std::optional<BytesPerSecond>;

  static void check_number(const NcclTopology::Gpu& before, const NcclTopology::Gpu& gpu) {
    if (before.number != gpu.number) return;
    throw InputError("expected each 'dev' once, found " + std::to_string(gpu.number) + " again, as in line " +
                         std::to_string(before.place.line),
                     gpu.place, "describe one node");
  }

  std::size_t add_place(const XmlElement& element, std::optional<std::size_t> above, Bandwidth pcie) {
    if (topology_.places.size() == kMostTopologyPlaces) {
      element.fail("expected at most " + std::to_string(kMostTopologyPlaces) + " NUMA nodes and switches, found more");
    }
    topology_.places.push_back({above, pcie});
    return topology_.places.size() - 1;
  }

  void check_devices(const XmlElement& element) const {
    if (topology_.gpus.size() + topology_.nics.size() < kMostTopologyDevices) return;
    element.fail("expected at most " + std::to_string(kMostTopologyDevices) + " GPUs and NICs, found more");
  }

  void read_cpu(const XmlElement& cpu) {
    const std::string host = cpu.find("host_hash").value_or("");
    if (topology_.places.empty()) host_ = host;
    if (host != host_) cpu.fail("expected one host, found another 'host_hash'", "describe one node", "host_hash");
    const Bandwidth sockets = nccl_socket_bandwidth({cpu.find("arch").value_or(""), cpu.find("vendor").value_or(""),
                                                     cpu.find_count("familyid", 0, 65535).value_or(0),
                                                     cpu.find_count("modelid", 0, 65535).value_or(0)});
    if (sockets) topology_.sockets = std::min(topology_.sockets.value_or(*sockets), *sockets);
    const std::size_t at = add_place(cpu, std::nullopt, std::nullopt);
    for (const XmlElement& child : cpu.children()) {
      if (child.name() == "pci") read_pci(child, at, 1);
      if (child.name() == "nic") read_nic(child, at, std::nullopt);
    }
  }

  static Bandwidth pcie_of(const XmlElement& pci) {
    const std::string text = pci.find("link_speed").value_or("");
    const std::int64_t width = pci.find_count("link_width", 0, 32).value_or(0);
    const auto speed = nccl_lane_speed(text);
    if (!speed) return std::nullopt;
    const Bandwidth lane = nccl_lane_bandwidth(*speed);
    if (!lane) pci.fail("expected a speed of PCIe, found " + quote(text), "known: " + nccl_lane_speeds(), "link_speed");
    return *lane * static_cast<double>(width == 0 ? 16 : width);
  }

  void read_pci(const XmlElement& pci, std::size_t above, int depth) {
    if (depth > kDeepestPci) pci.fail("expected at most " + std::to_string(kDeepestPci) + " <pci> in each other");
    const Bandwidth pcie = pcie_of(pci);
    const std::vector<XmlElement> children = pci.children();
    const bool is_device = read_devices(pci, children, above, pcie) || read_device_by_class(pci, above, pcie);
    const std::size_t at = is_device ? above : add_place(pci, above, pcie);
    for (const XmlElement& child : children) {
      if (child.name() != "pci") continue;
      if (is_device) child.fail("expected <pci> in a switch, found it in a GPU or NIC", "put it beside that device");
      read_pci(child, at, depth + 1);
    }
  }

  /// Whether there are any.
  bool read_devices(const XmlElement& pci, const std::vector<XmlElement>& children, std::size_t above, Bandwidth pcie) {
    bool has_device = false;
    for (const XmlElement& child : children) {
      if (child.name() == "gpu") read_gpu(pci, child, above, pcie);
      if (child.name() == "nic") read_nic(child, above, pcie);
      has_device = has_device || child.name() == "gpu" || child.name() == "nic";
    }
    return has_device;
  }

  /// Whether it is a GPU or a NIC in a file that does not tell these.
  bool read_device_by_class(const XmlElement& pci, std::size_t above, Bandwidth pcie) {
    const std::string type = pci.find("class").value_or("");
    if (!topology_.tells_gpus && (type.starts_with("0x03") || type.starts_with("0x12"))) {
      add_gpu(pci, {pci.at("busid"), above, pcie, {}, std::ssize(topology_.gpus), {}, pci.place()});
      return true;
    }
    if (tells_nets_ || !type.starts_with("0x02")) return false;
    check_devices(pci);
    topology_.nics.push_back({"nic " + pci.at("busid"), above, pcie, std::nullopt, pci.place()});
    return true;
  }

  void add_gpu(const XmlElement& element, NcclTopology::Gpu gpu) {
    check_devices(element);
    const auto [known, is_new] = lines_.emplace(gpu.bus, gpu.place.line);
    if (!is_new) {
      element.fail("expected each GPU once, found " + quote(gpu.bus) + " again, as in line " +
                   std::to_string(known->second));
    }
    topology_.gpus.push_back(std::move(gpu));
  }

  void read_gpu(const XmlElement& pci, const XmlElement& element, std::size_t above, Bandwidth pcie) {
    const auto number = element.find_count("dev", 0, kMostTopologyPlaces);
    if (!number) static_cast<void>(element.at("dev"));
    NcclTopology::Gpu gpu{pci.at("busid"), above, pcie, gpu_architecture(element), *number, {}, element.place()};
    for (const XmlElement& link : element.children()) {
      if (link.name() != "nvlink" && link.name() != "xgmi") continue;
      const auto count = link.find_count("count", 1, kMostTopologyLinks);
      if (!count) static_cast<void>(link.at("count"));
      const bool is_switch =
          link.find("tclass").value_or("").starts_with("0x0680") && link.find("tclass") != "0x068001";
      gpu.links.push_back({link.at("target"), is_switch, *count, link.place()});
    }
    add_gpu(element, std::move(gpu));
  }

  void read_nic(const XmlElement& nic, std::size_t above, Bandwidth pcie) {
    for (const XmlElement& net : nic.children()) {
      if (net.name() != "net" || net.find("net") == "0") continue;
      check_devices(net);
      topology_.nics.push_back({net.find("name").value_or("nic"), above, pcie, speed_of(net), net.place()});
    }
  }

  /// In Mbit/s; 0 and negative numbers stand for one that is not known.
  static Bandwidth speed_of(const XmlElement& net) {
    constexpr double kBytesOfMegabit = 1e6 / 8;
    if (net.find("speed").value_or("-").starts_with('-')) return std::nullopt;
    const std::int64_t speed = *net.find_count("speed", 0, kMostMegabits);
    if (speed == 0) return std::nullopt;
    return BytesPerSecond(static_cast<double>(speed) * kBytesOfMegabit);
  }

  XmlElement root_;
  NcclTopology topology_;
  bool tells_nets_ = true;
  std::string host_;
  std::map<std::string, int> lines_;  ///< of GPUs, by bus id
};

}  // namespace

NcclTopology parse_nccl_topology(std::string_view text, const std::string& file_name) {
  return TopologyReader(XmlElement::parse(text, file_name)).read();
}

}  // namespace stagecraft
