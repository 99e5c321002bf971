// Platforms from what `nvidia-smi topo -m` prints.
#include "sim/io/import_nvidia_topo.hpp"

#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/topo_platform.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace stagecraft::import_nvidia_topo_test {
namespace {

const std::string kTopologies = STAGECRAFT_SOURCE_DIR "/tests/vectors/topo/";

TopoMachine machine_with(const std::string& device) {
  TopoMachine machine{"node", {}, *find_device_links(device)};
  machine.kind.name = device;
  machine.kind.memory = find_device(device)->memory;
  return machine;
}

TopoPlatform read(const std::string& file, const TopoMachine& machine) {
  return topo_platform(parse_nvidia_topo(read_text_file(kTopologies + file), file), machine);
}

NodeKind node_of(const PlatformSpec& spec) { return std::get<NodeForm>(spec.form).node_kinds[NodeKindId(0)]; }

NodeKind shipped(const std::string& name) {
  return node_of(read_platform_file(STAGECRAFT_SOURCE_DIR "/platforms/" + name + ".yaml"));
}

// The shipped files are written by hand from the makers' documents.
TEST_CASE("import nvidia-topo: a switched node and a cube mesh are those of the shipped platforms") {
  TopoMachine a100 = machine_with("A100-SXM4-40GB");
  a100.nic = BytesPerSecond(25e9);
  a100.host_memory = Bytes(1'000'000'000'000);
  const NodeKind switched = node_of(read("switched.txt", a100).spec);
  CHECK(switched.device_count == 8);
  CHECK(switched.interconnect == shipped("dgx-a100").interconnect);
  CHECK(switched.nic == shipped("dgx-a100").nic);
  CHECK(switched.host == shipped("dgx-a100").host);

  TopoMachine v100 = machine_with("V100-SXM2-16GB");
  v100.nic = BytesPerSecond(12.5e9);
  v100.host_memory = Bytes(512'000'000'000);
  const NodeKind mesh = node_of(read("cube_mesh.txt", v100).spec);
  CHECK(mesh.interconnect == shipped("dgx-1-v100").interconnect);
  CHECK(mesh.nic == shipped("dgx-1-v100").nic);
  CHECK(mesh.host == shipped("dgx-1-v100").host);
}

TEST_CASE("import nvidia-topo: GPUs without NVLink are a tree, whose NIC belongs to the node") {
  TopoMachine machine = machine_with("RTX-2080-Ti");
  machine.nic = BytesPerSecond(1.25e9);
  machine.host_memory = Bytes(1 << 30);
  machine.nodes = 3;
  const PlatformSpec spec = read("pcie.txt", machine).spec;
  const NodeKind node = node_of(spec);
  const LinkSpec pcie{BytesPerSecond(12e9), Seconds(1e-6)};
  CHECK(node.interconnect == Interconnect{PcieNode{2, pcie, 2, pcie}, pcie});
  CHECK(node.nic == NicSpec{{BytesPerSecond(1.25e9), Seconds(5e-6)}});
  CHECK(node.host == HostSpec{Bytes(1 << 30), std::nullopt});
  CHECK(build_platform(spec).devices.size() == 24);
  CHECK(parse_platform(write_platform(spec), "written") == spec);
}

TEST_CASE("import nvidia-topo: as many NVLinks between all are links of pairs if a GPU has so many") {
  const auto shape_of = [](const std::string& links) {
    const std::string matrix = "GPU0 GPU1 GPU2\nGPU0 X " + links + " " + links + "\nGPU1 " + links + " X " + links +
                               "\nGPU2 " + links + " " + links + " X\n";
    return *node_of(topo_platform(parse_nvidia_topo(matrix, "m"), machine_with("A100-SXM4-80GB")).spec).interconnect;
  };
  CHECK(shape_of("NV6") == Interconnect{FullNode{}, {BytesPerSecond(150e9), Seconds(2e-6)}});
  CHECK(shape_of("NV7") == Interconnect{SwitchedNode{}, {BytesPerSecond(175e9), Seconds(2e-6)}});
}

TEST_CASE("import nvidia-topo: prompts, escape sequences, blanks and the legend do not matter") {
  const std::string plain = read_text_file(kTopologies + "switched.txt");
  std::string shown = "$ nvidia-smi topo -m\n" + plain;
  shown.insert(shown.find("GPU0"), "\x1b[4m");
  shown.insert(shown.find("\nGPU0"), "\x1b[0m");
  for (char& c : shown) c = c == '\t' ? ' ' : c;
  const TopoMachine machine = machine_with("A100-SXM4-40GB");
  CHECK(topo_platform(parse_nvidia_topo(shown, "m"), machine).spec ==
        topo_platform(parse_nvidia_topo(plain.substr(0, plain.find("Legend")), "m"), machine).spec);
}

TEST_CASE("import nvidia-topo: a node with one GPU has no interconnect") {
  const auto spec =
      topo_platform(parse_nvidia_topo("GPU0 CPU Affinity\nGPU0 X 0-7\n", "m"), machine_with("H100-SXM5-80GB")).spec;
  CHECK(node_of(spec).device_count == 1);
  CHECK_FALSE(node_of(spec).interconnect);
}

TEST_CASE("import nvidia-topo: NICs that are nearest to fewer GPUs give each of them more") {
  const std::string matrix =
      "GPU0 GPU1 n0 n1 n2 n3\nGPU0 X NV4 PIX PIX SYS SYS\nGPU1 NV4 X SYS SYS PIX PIX\nn0 PIX SYS X PIX SYS SYS\n"
      "n1 PIX SYS PIX X SYS SYS\nn2 SYS PIX SYS SYS X PIX\nn3 SYS PIX SYS SYS PIX X\n";
  TopoMachine machine = machine_with("H100-SXM5-80GB");
  machine.nic = BytesPerSecond(50e9);
  const NodeKind node = node_of(topo_platform(parse_nvidia_topo(matrix, "m"), machine).spec);
  CHECK(node.nic == NicSpec{{BytesPerSecond(100e9), Seconds(5e-6)}, true, 1});
}

/// A node whose GPUs hang on random switches and NUMA nodes, some of them bridged by NVLinks.
struct RandomNode {
  std::vector<int> pcie;             ///< by GPU
  std::vector<int> numa;             ///< by PCIe switch
  std::vector<std::vector<int>> nv;  ///< by pair; 0: none

  explicit RandomNode(std::mt19937& random) {
    const auto draw = [&](int least, int most) { return std::uniform_int_distribution(least, most)(random); };
    const int gpus = draw(2, 8);
    for (int gpu = 0; gpu < gpus; ++gpu) pcie.push_back(draw(0, 3));
    for (int s = 0; s < 4; ++s) numa.push_back(draw(0, 2));
    nv.assign(gpus, std::vector<int>(gpus));
    const bool has_nvlinks = draw(0, 2) > 0;
    for (int a = 0; a < gpus; ++a) {
      for (int b = 0; b < a && has_nvlinks; ++b) nv[a][b] = nv[b][a] = draw(0, 4) == 0 ? draw(1, 2) : 0;
    }
  }

  [[nodiscard]] std::string path(std::size_t a, std::size_t b) const {
    if (a == b) return "X";
    if (nv[a][b] > 0) return "NV" + std::to_string(nv[a][b]);
    if (pcie[a] == pcie[b]) return "PIX";
    return numa[pcie[a]] == numa[pcie[b]] ? "NODE" : "SYS";
  }

  [[nodiscard]] std::string matrix() const {
    std::string header;
    std::string rows;
    for (std::size_t a = 0; a < pcie.size(); ++a) {
      header += "\tGPU" + std::to_string(a);
      rows += "GPU" + std::to_string(a);
      for (std::size_t b = 0; b < pcie.size(); ++b) rows += "\t" + path(a, b);
      rows += "\tcpus" + std::to_string(numa[pcie[a]]) + "\n";
    }
    return header + "\tCPU Affinity\n" + rows;
  }
};

// Up and down at a switch; up to the NUMA node and down again; the same with a link between NUMA nodes.
TEST_CASE("import nvidia-topo: a way has as many links as its word says, in trees and in irregular nodes") {
  const std::map<std::string, std::size_t> expected{{"NV1", 1}, {"NV2", 1}, {"PIX", 2}, {"NODE", 4}, {"SYS", 5}};
  std::mt19937 random(7);
  std::map<bool, int> forms;
  for (int round = 0; round < 300; ++round) {
    const RandomNode node(random);
    const TopoPlatform made = topo_platform(parse_nvidia_topo(node.matrix(), "m"), machine_with("H100-SXM5-80GB"));
    CHECK(parse_platform(write_platform(made.spec), "written") == made.spec);
    ++forms[std::holds_alternative<NodeForm>(made.spec.form)];
    const Platform platform = build_platform(made.spec);
    CAPTURE(node.matrix());
    for (std::size_t a = 0; a < node.pcie.size(); ++a) {
      for (std::size_t b = 0; b < node.pcie.size(); ++b) {
        Route route;
        if (a == b) continue;
        REQUIRE(find_route(platform, platform.place(DeviceId(a)), platform.place(DeviceId(b)), route));
        CHECK(route.links.size() == expected.at(node.path(a, b)));
      }
    }
  }
  CHECK(forms[true] > 30);
  CHECK(forms[false] > 30);
}

TEST_CASE("import nvidia-topo: all kinds of device that are known have links") {
  for (const WorkloadInfo& device : known_devices()) {
    CAPTURE(device.name);
    const auto links = find_device_links(device.name);
    REQUIRE(links);
    CHECK((links->nvlink > BytesPerSecond(0)) == (links->nvlinks > 0));
    CHECK(links->architecture.starts_with("sm"));
  }
  CHECK_FALSE(find_device_links("A"));
}

}  // namespace
}  // namespace stagecraft::import_nvidia_topo_test
