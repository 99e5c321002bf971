// Platforms from the XML of nodes that NCCL writes.
#include "sim/io/import_nccl_topology.hpp"

#include "sim/base/error.hpp"
#include "sim/io/nccl_platform.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <variant>
#include <vector>

namespace stagecraft::import_nccl_topology_test {
namespace {

namespace fs = std::filesystem;

const fs::path kVectors = fs::path(STAGECRAFT_SOURCE_DIR) / "tests/vectors/nccl-topology";
const fs::path kReference = fs::path(STAGECRAFT_SHARED_DIR) / "reference/topologies";

NcclMachine machine_with(const std::string& device) {
  NcclMachine machine{"node", {}, find_device_links(device)};
  machine.kind.name = device;
  machine.kind.memory = find_device(device)->memory;
  return machine;
}

/// Any GPU, of which nothing is known but its memory.
NcclMachine unknown_machine(std::uint32_t nodes) {
  NcclMachine machine{"node", {}, {}, nodes};
  machine.kind.name = "A";
  machine.kind.memory = Bytes(1 << 30);
  return machine;
}

NcclTopology read(const fs::path& path) { return parse_nccl_topology(read_text_file(path.string()), path.string()); }

NodeKind node_of(const PlatformSpec& spec) { return std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)]; }

/// Every value of an attribute in the tags of a name, by patterns of text.
std::vector<std::string> values(const std::string& text, const std::string& tag, const std::string& attribute) {
  std::vector<std::string> found;
  const std::regex tags("<" + tag + "[ >][^>]*>");
  const std::regex attributes(" " + attribute + "=\"([^\"]*)\"");
  for (std::sregex_iterator at(text.begin(), text.end(), tags), end; at != end; ++at) {
    const std::string whole = at->str();
    std::smatch value;
    found.push_back(std::regex_search(whole, value, attributes) ? value[1].str() : "");
  }
  return found;
}

double sum(const std::vector<std::string>& numbers) {
  double total = 0;
  for (const std::string& number : numbers) total += std::stod(number);
  return total;
}

/// The files of the reference that describe a machine with GPUs.
std::vector<fs::path> reference_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kReference)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".xml" || name == "azure-ncv4-graph.xml" || name == "aws-g5.48xl-topo.xml")
      continue;
    files.push_back(entry.path());
  }
  return files;
}

Route route_of(const Platform& platform, std::size_t a, std::size_t b) {
  Route route;
  REQUIRE(find_route(platform, platform.place(DeviceId(a)), platform.place(DeviceId(b)), route));
  return route;
}

double narrowest(const Platform& platform, std::size_t a, std::size_t b) {
  double least = 1e30;
  for (const LinkId link : route_of(platform, a, b).links) {
    least = std::min(least, platform.links[link].bandwidth.value());
  }
  return least;
}

const auto kIsAbsent = doctest::skip(!fs::exists(kReference));

}  // namespace

TEST_CASE("import nccl-topology: the counts and sums of every file of the reference are those of its text" *
          kIsAbsent) {
  const std::vector<fs::path> files = reference_files();
  CHECK(files.size() == 44);
  for (const fs::path& path : files) {
    CAPTURE(path.filename().string());
    const std::string text = read_text_file(path.string());
    const NcclTopology topology = read(path);
    const std::vector<std::string> classes = values(text, "pci", "class");
    const auto count = [&](const std::string& start) {
      return std::ranges::count_if(classes, [&](const std::string& each) { return each.starts_with(start); });
    };
    const std::vector<std::string> gpus = values(text, "gpu", "dev");
    CHECK(topology.tells_gpus == !gpus.empty());
    CHECK(std::ssize(topology.gpus) == (gpus.empty() ? count("0x03") : std::ssize(gpus)));
    const std::vector<std::string> speeds = values(text, "net", "speed");
    CHECK(std::ssize(topology.nics) == (speeds.empty() ? count("0x02") : std::ssize(speeds)));
    double speed = 0;
    for (const NcclTopology::Nic& nic : topology.nics) speed += nic.speed.value_or(BytesPerSecond(0)).value();
    CHECK(speed == sum(speeds) * 1e6 / 8);
    double links = 0;
    for (const NcclTopology::Gpu& gpu : topology.gpus) {
      for (const NcclTopology::Links& each : gpu.links) links += static_cast<double>(each.count);
    }
    CHECK(links == sum(values(text, "xgmi", "count")) + sum(values(text, "nvlink", "count")));
  }
}

TEST_CASE("import nccl-topology: PCIe of every GPU of the reference has the width and speed of the file" * kIsAbsent) {
  const std::map<double, double> lanes{{8, 0.75e9}, {16, 1.5e9}, {32, 3e9}};
  int told = 0;
  for (const fs::path& path : reference_files()) {
    CAPTURE(path.filename().string());
    const std::string text = read_text_file(path.string());
    const std::vector<std::string> buses = values(text, "pci", "busid");
    const std::vector<std::string> speeds = values(text, "pci", "link_speed");
    const std::vector<std::string> widths = values(text, "pci", "link_width");
    for (const NcclTopology::Gpu& gpu : read(path).gpus) {
      const auto at = static_cast<std::size_t>(std::ranges::find(buses, gpu.bus) - buses.begin());
      REQUIRE(at < buses.size());
      CHECK(gpu.pcie.has_value() == !speeds[at].empty());
      if (!gpu.pcie) continue;
      CHECK(gpu.pcie->value() == lanes.at(std::stod(speeds[at])) * std::stod(widths[at]));
      ++told;
    }
  }
  CHECK(told > 300);
}

TEST_CASE(
    "import nccl-topology: two nodes of every file of the reference are a platform, and only nodes meet in its "
    "network" *
    kIsAbsent) {
  int explicit_files = 0;
  for (const fs::path& path : reference_files()) {
    CAPTURE(path.filename().string());
    const NcclTopology topology = read(path);
    NcclMachine machine = unknown_machine(2);
    const bool tells_speed = topology.nics.front().speed.has_value();
    if (!tells_speed) machine.nic = BytesPerSecond(12.5e9);
    const PlatformSpec spec = nccl_platform(topology, machine).spec;
    CHECK(parse_platform(write_platform(spec), "written") == spec);
    const Platform platform = build_platform(spec);
    const std::size_t gpus = topology.gpus.size();
    REQUIRE(platform.devices.size() == 2 * gpus);
    explicit_files += std::holds_alternative<ExplicitForm>(spec.form) ? 1 : 0;
    for (std::size_t a = 0; a < 2 * gpus; ++a) {
      for (std::size_t b = 0; b < 2 * gpus; ++b) {
        if (a == b) continue;
        const Route route = route_of(platform, a, b);
        const bool crosses = std::ranges::any_of(
            route.links, [&](LinkId link) { return platform.links[link].name.find("nic") != std::string::npos; });
        CHECK(crosses == (a / gpus != b / gpus));
      }
    }
  }
  CHECK(explicit_files > 20);
  CHECK(explicit_files < 44);
}

TEST_CASE("import nccl-topology: links of GPUs have the bandwidth of their number, of the reference" * kIsAbsent) {
  const fs::path path = kReference / "rccl-topo_8p1h_1.xml";
  const NcclTopology topology = read(path);
  const Platform platform = build_platform(nccl_platform(topology, unknown_machine(1)).spec);
  int joined = 0;
  for (std::size_t a = 0; a < topology.gpus.size(); ++a) {
    for (const NcclTopology::Links& links : topology.gpus[a].links) {
      const auto b = static_cast<std::size_t>(std::ranges::find(topology.gpus, links.target, &NcclTopology::Gpu::bus) -
                                              topology.gpus.begin());
      CHECK(narrowest(platform, a, b) == 50e9 * static_cast<double>(links.count));
      ++joined;
    }
  }
  CHECK(joined == 24);
}

// The shipped file is written by hand from the maker's documents.
TEST_CASE("import nccl-topology: a switched node is that of the shipped platform") {
  NcclMachine machine = machine_with("A100-SXM4-40GB");
  machine.host_memory = Bytes(1'000'000'000'000);
  const NodeKind node = node_of(nccl_platform(read(kVectors / "switched.xml"), machine).spec);
  const NodeKind shipped = node_of(read_platform_file(STAGECRAFT_SOURCE_DIR "/platforms/dgx-a100.yaml"));
  CHECK(node.device_count == 8);
  CHECK(node.interconnect == shipped.interconnect);
  CHECK(node.host == shipped.host);
  CHECK(node.nic == NicSpec{{BytesPerSecond(12.5e9), Seconds(5e-6)}, true, 1});
}

TEST_CASE("import nccl-topology: GPUs by their class are a tree, with the NIC of the node if its bandwidth is given") {
  NcclMachine machine = machine_with("A100-SXM4-40GB");
  const NcclTopology topology = read(kVectors / "classes.xml");
  const LinkSpec pcie{BytesPerSecond(24e9), Seconds(1e-6)};
  const LinkSpec own{BytesPerSecond(24e9), Seconds(0)};
  const LinkSpec sockets{BytesPerSecond(16e9), Seconds(1e-6)};
  CHECK_FALSE(topology.tells_gpus);
  CHECK_FALSE(node_of(nccl_platform(topology, machine).spec).nic);
  machine.nic = BytesPerSecond(12.5e9);
  const NodeKind node = node_of(nccl_platform(topology, machine).spec);
  CHECK(node.interconnect == Interconnect{PcieNode{1, own, 2, sockets}, pcie});
}

TEST_CASE("import nccl-topology: NICs that GPUs share are one port, and a NIC is as wide as its PCIe") {
  NcclMachine machine = machine_with("A100-SXM4-40GB");
  machine.nodes = 2;
  const Platform platform = build_platform(nccl_platform(read(kVectors / "pairs.xml"), machine).spec);
  CHECK(narrowest(platform, 0, 1) == 100e9);  // four NVLinks
  CHECK(narrowest(platform, 0, 2) == 24e9);   // one switch
  CHECK(narrowest(platform, 0, 3) == 12e9);   // its uplink of eight lanes
  CHECK(narrowest(platform, 3, 7) == 12e9);   // PCIe 3.0 of a NIC of 25 GB/s
  CHECK(narrowest(platform, 0, 4) == 24e9);   // GPUs' PCIe, with NICs of 25 and 12.5 GB/s together
  CHECK(platform.links.size() == 2 * 2 * (1 + 4 + 1 + 1 + 2 * 2));
}

TEST_CASE("import nccl-topology: figures of processors and lanes") {
  const auto socket_of = [](const std::string& cpu) {
    return parse_nccl_topology("<system><cpu " + cpu + "><pci busid=\"a\" class=\"0x030200\"/></cpu></system>", "x")
        .sockets;
  };
  const auto giga = [](double value) { return std::optional(BytesPerSecond(value * 1e9)); };
  const std::string intel = R"(arch="x86_64" vendor="GenuineIntel" familyid="6" modelid=")";
  const std::string amd = R"(arch="x86_64" vendor="AuthenticAMD" familyid=")";
  CHECK(socket_of(intel + "79\"") == giga(6));
  CHECK(socket_of(intel + "85\"") == giga(10));
  CHECK(socket_of(intel + "143\"") == giga(22));
  CHECK(socket_of(intel + "207\"") == giga(40));
  CHECK(socket_of(amd + "23\"") == giga(16));
  CHECK(socket_of(amd + "25\"") == giga(24));
  CHECK(socket_of(amd + "26\"") == giga(32));
  CHECK(socket_of(R"(arch="ppc64")") == giga(32));
  CHECK(socket_of(R"(arch="arm64")") == giga(6));
  CHECK_FALSE(socket_of(""));
}

namespace {

/// A tree of random switches, written as XML, and by GPU the places above it with the bandwidths of the links to them.
struct RandomTree {
  struct Step {
    int place;
    double bandwidth;
  };
  std::string xml = "<system>";
  std::vector<std::vector<Step>> ways;

  explicit RandomTree(std::mt19937& random) : random_(random) {
    for (int numa = 0; numa < draw(1, 3); ++numa) {
      xml += R"(<cpu arch="x86_64" vendor="AuthenticAMD" familyid="23">)";
      const int place = places_++;
      for (int i = 0; i < draw(1, 3); ++i) add_below({{place, 0}}, 0);
      xml += "</cpu>";
    }
    xml += "</system>";
  }

  /// What the way between two GPUs carries: by the first place that is above both.
  [[nodiscard]] double carries(std::size_t a, std::size_t b) const {
    constexpr double kSockets = 16e9;
    double least = 1e30;
    const auto climb = [&](const std::vector<Step>& way, const std::vector<Step>& other) {
      for (const Step& step : way) {
        least = std::min(least, step.bandwidth);
        if (std::ranges::find(other, step.place, &Step::place) != other.end()) return true;
      }
      return false;
    };
    const bool meet = climb(ways[a], ways[b]);
    climb(ways[b], ways[a]);
    return meet ? least : std::min(least, kSockets);
  }

 private:
  int draw(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  /// `above` leads from the nearest place to the socket, each with the bandwidth of the link to it from below.
  void add_below(std::vector<Step> above, int depth) {
    const int width = 1 << draw(2, 4);
    above.front().bandwidth = 1.5e9 * width;
    const std::string pci = "<pci busid=\"" + std::to_string(places_) + "\" link_speed=\"16 GT/s\" link_width=\"" +
                            std::to_string(width) + "\">";
    const int kind = ways.size() > 9 ? 2 : draw(depth > 2 ? 1 : 0, 4);
    if (kind == 0) {
      above.insert(above.begin(), {places_++, 0});
      xml += pci;
      for (int i = 0; i < draw(1, 3); ++i) add_below(above, depth + 1);
      xml += "</pci>";
    } else if (kind == 2) {
      const std::string number = std::to_string(places_++);
      xml += pci + "<nic><net name=\"n" + number + "\" dev=\"" + number + "\" speed=\"100000\"/></nic></pci>";
    } else {
      ++places_;
      xml += pci + "<gpu dev=\"" + std::to_string(ways.size()) + "\" sm=\"80\"/></pci>";
      ways.push_back(above);
    }
  }

  std::mt19937& random_;
  int places_ = 0;
};

}  // namespace

TEST_CASE("import nccl-topology: the narrowest link between GPUs of random trees is that of the way in the XML") {
  std::mt19937 random(11);
  std::map<bool, int> forms;
  int several = 0;
  for (int round = 0; round < 400; ++round) {
    const RandomTree tree(random);
    if (tree.ways.empty()) continue;
    CAPTURE(tree.xml);
    const NcclTopology topology = parse_nccl_topology(tree.xml, "x");
    const std::uint32_t nodes = topology.nics.empty() ? 1 : 2;
    const PlatformSpec spec = nccl_platform(topology, unknown_machine(nodes)).spec;
    CHECK(parse_platform(write_platform(spec), "written") == spec);
    ++forms[std::holds_alternative<NodeForm>(spec.form)];
    several += nodes == 2 ? 1 : 0;
    const Platform platform = build_platform(spec);
    for (std::size_t a = 0; a < tree.ways.size(); ++a) {
      for (std::size_t b = 0; b < tree.ways.size(); ++b) {
        if (a != b) CHECK(narrowest(platform, a, b) == tree.carries(a, b));
      }
      if (nodes == 2) CHECK(narrowest(platform, a, tree.ways.size() + a) <= 12.5e9 * 12);
    }
  }
  CHECK(forms[true] > 30);
  CHECK(forms[false] > 30);
  CHECK(several > 100);
}

}  // namespace stagecraft::import_nccl_topology_test
