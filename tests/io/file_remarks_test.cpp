#include "sim/io/file_remarks.hpp"

#include "sim/io/device_file.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::file_remarks_test {

namespace {

using Remarks = std::vector<std::string>;

std::string platform_with(const std::string& memory, const std::string& nic) {
  return "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: " + memory +
         "}}\nnode_kinds:\n  n:\n    devices: {kind: A, count: 2}\n"
         "    interconnect: {type: switch, bandwidth: 300 GBps, latency: 0}\n    nic: {bandwidth: " +
         nic + ", latency: 0}\nnodes: {kind: n, count: 2}\n";
}

Remarks of_platform(const std::string& memory, const std::string& nic) {
  const std::string text = platform_with(memory, nic);
  static_cast<void>(parse_platform(text, "p.yaml"));  // what is remarked on is accepted
  return file_remarks(text, "p.yaml");
}

Remarks of_device(const std::string& more) {
  const std::string text =
      "schema: stagecraft/device/1\ndevice: X\nsource: made up\nmemory: 8 GiB\nmemory_bandwidth: 600 GBps\n"
      "fp32: 10 TFLOPS\nfp16: 80 TFLOPS\n" +
      more;
  static_cast<void>(parse_device(text, "d.yaml"));
  return file_remarks(text, "d.yaml");
}

}  // namespace

TEST_CASE("file remarks: memory in bits is told, with what it is in bytes") {
  CHECK(of_platform("4 GB", "25 Gbps").empty());
  // 4e9 bits are 5e8 bytes: 5e8 / 2^20 = 476.8 MiB.
  CHECK(of_platform("4 Gb", "25 Gbps") ==
        Remarks{"p.yaml:3:28: device_kinds.A.memory: '4 Gb' is in bits, which makes 477 MiB; '4 GB' is in bytes"});
}

TEST_CASE("file remarks: devices between a switch of their own and a network are in no node unless they name it") {
  const auto with = [](const std::string& node, const std::string& more) {
    return "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 4 GB}}\n"
           "devices: [{name: a, kind: A" +
           node + "}, {name: b, kind: A" + node +
           "}]\nswitches: [inside, rail]\nlinks:\n"
           "  - {between: [a, inside], bandwidth: 200 GBps, latency: 0}\n"
           "  - {between: [inside, b], bandwidth: 200 GBps, latency: 0}\n"
           "  - {between: [b, rail], bandwidth: 25 GBps, latency: 0}\n" +
           more;
  };
  const Remarks remarks = file_remarks(with("", ""), "p.yaml");
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0].starts_with("p.yaml:4:38: devices[1].name: 'b' has links of several bandwidths to switches"));
  CHECK(file_remarks(with(", node: n", ""), "p.yaml").empty());
  CHECK(file_remarks(with("", "collectives: {rings: 1}\n"), "p.yaml").empty());
}

TEST_CASE("file remarks: several rings and hierarchical all-reduces have no effect in the explicit form") {
  const auto of_collectives = [](const std::string& collectives) {
    const std::string text =
        "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 4 GB}}\n"
        "devices: [{name: a, kind: A}, {name: b, kind: A}]\ndefault_link: {bandwidth: 1 GBps, latency: 0}\n"
        "collectives: " +
        collectives + "\n";
    static_cast<void>(parse_platform(text, "p.yaml"));
    return file_remarks(text, "p.yaml");
  };
  CHECK(of_collectives("{algorithm: ring, rings: 1}").empty());
  CHECK(of_collectives("{algorithm: auto}").empty());
  const Remarks rings = of_collectives("{algorithm: hierarchical, rings: 4}");
  REQUIRE(rings.size() == 2);
  CHECK(rings[0].starts_with("p.yaml:6:26: collectives.algorithm: 'hierarchical' has no effect in the explicit form"));
  CHECK(rings[1].starts_with("p.yaml:6:47: collectives.rings: '4' has no effect in the explicit form"));
  // With nodes, named or described, they are what they say.
  const std::string named =
      "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 4 GB}}\n"
      "devices: [{name: a, kind: A, node: m}, {name: b, kind: A, node: n}]\n"
      "default_link: {bandwidth: 1 GBps, latency: 0}\ncollectives: {algorithm: hierarchical, rings: 4}\n";
  static_cast<void>(parse_platform(named, "p.yaml"));
  CHECK(file_remarks(named, "p.yaml").empty());
  const std::string nodes = platform_with("4 GB", "25 Gbps") + "collectives: {algorithm: hierarchical, rings: 4}\n";
  CHECK(file_remarks(nodes, "p.yaml").empty());
}

TEST_CASE("file remarks: links with only a name on which a device's sending and receiving meet are told") {
  const auto of_links = [](const std::string& pcie0, const std::string& pcie1, const std::string& second_route) {
    const std::string text =
        "schema: stagecraft/platform/1\nplatform: p\ndevice_kinds: {A: {memory: 4 GB}}\n"
        "devices: [{name: a, kind: A}, {name: b, kind: A}, {name: c, kind: A}]\nswitches: [s]\nlinks:\n"
        "  - {between: [c, s], name: pcie2, bandwidth: 1 GBps, latency: 0}\n"
        "  - {" +
        pcie0 + ", bandwidth: 1 GBps, latency: 0}\n  - {" + pcie1 +
        ", bandwidth: 1 GBps, latency: 0}\nroutes:\n  - {between: [a, b], links: [pcie0, pcie1]}\n  - " + second_route +
        "\n";
    static_cast<void>(parse_platform(text, "p.yaml"));
    return file_remarks(text, "p.yaml");
  };
  const std::string b_to_c = "{between: [b, c], links: [pcie1, pcie2]}";
  // b receives forward from a, and sends forward to c. Nobody else crosses pcie0.
  const Remarks meet = of_links("name: pcie0", "name: pcie1", b_to_c);
  REQUIRE(meet.size() == 1);
  CHECK(meet[0].starts_with("p.yaml:9:12: links[2].name: 'pcie1' has only a name"));
  CHECK(meet[0].find("'b' comes first in one and second in another") != std::string::npos);
  CHECK(meet[0].ends_with("if both do share it"));
  // In both routes b comes second: it sends in reverse.
  CHECK(of_links("name: pcie0", "name: pcie1", "{between: [c, b], links: [pcie2, pcie1]}").empty());
  // The link has two ends, or only one direction.
  CHECK(of_links("name: pcie0", "name: pcie1, between: [b, s]", b_to_c).empty());
  CHECK(of_links("name: pcie0", "name: pcie1, duplex: half", b_to_c).empty());
  // The first is told of, and how many more there are.
  const Remarks both = of_links("name: pcie0", "name: pcie1", "{between: [b, c], links: [pcie1, pcie0]}");
  REQUIRE(both.size() == 1);
  CHECK(both[0].starts_with("p.yaml:8:12: links[1].name: 'pcie0'"));
  CHECK(both[0].ends_with("; the file has 1 more such link"));
}

TEST_CASE("file remarks: the first size of a model in bits is told, with the number of others") {
  const auto of_model = [](const std::string& parameters, const std::string& output) {
    const std::string text =
        "schema: stagecraft/model/1\nmodel: m\ndevice: A\nmicrobatch_size: 1\ninput: 4 B\nlayers:\n"
        "  - {name: b, forward: 1 ms, backward: 2 ms, parameters: " +
        parameters + ", output: " + output + "}\n";
    static_cast<void>(parse_model(text, "m.yaml"));
    return file_remarks(text, "m.yaml");
  };
  CHECK(of_model("200 MB", "1 MB").empty());
  // 200e6 bits are 25e6 bytes: 25e6 / 2^20 = 23.84 MiB.
  const std::string first =
      "m.yaml:7:58: layers[0].parameters: '200 Mb' is in bits, which makes 23.8 MiB; '200 MB' is in bytes";
  CHECK(of_model("200 Mb", "1 MB") == Remarks{first});
  CHECK(of_model("200 Mb", "1 Mb") == Remarks{first + "; the file has 1 more size in bits"});
}

TEST_CASE("file remarks: a NIC above 800 Gbit/s in bytes per second is told, in bits it is taken as meant") {
  CHECK(of_platform("4 GB", "100 GBps").empty());
  CHECK(of_platform("4 GB", "1600 Gbps").empty());
  CHECK(of_platform("4 GB", "200 GBps") ==
        Remarks{
            "p.yaml:8:22: node_kinds.n.nic.bandwidth: '200 GBps' is 1600 Gbps, more than a single NIC has; if bits are "
            "meant, write '200 Gbps', and otherwise '1600 Gbps'"});
}

TEST_CASE("file remarks: tensor cores with the efficiency of ordinary cores are told") {
  CHECK(of_device("").empty());
  CHECK(of_device("precision: fp32\n").empty());
  CHECK(of_device("precision: fp16\nefficiency: {convolution: 0.5, linear: 0.6, matmul: 0.4}\n").empty());
  const Remarks all = of_device("precision: fp16\n");
  REQUIRE(all.size() == 1);
  CHECK(all.front().find("is assumed for convolution, linear, matmul (linear: 0.8 of the peak)") != std::string::npos);
  const Remarks one = of_device("precision: fp16\nefficiency: {convolution: 0.5, linear: 0.6}\n");
  REQUIRE(one.size() == 1);
  CHECK(one.front().find("is assumed for matmul (") != std::string::npos);
}

TEST_CASE("file remarks: there is nothing to say about the shipped platforms") {
  for (const auto& entry : std::filesystem::directory_iterator(STAGECRAFT_SOURCE_DIR "/platforms")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().string());
    CHECK(file_remarks(read_text_file(entry.path().string()), entry.path().string()).empty());
  }
}

}  // namespace stagecraft::file_remarks_test
