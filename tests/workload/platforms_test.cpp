#include "sim/io/platform_file.hpp"
#include "sim/model/bandwidths.hpp"
#include "sim/model/bisection.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "platforms";

Platform shipped(const std::string& name) {
  return build_platform(read_platform_file((kFolder / (name + ".yaml")).string()));
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  return names;
}

doctest::Approx near(double value) { return doctest::Approx(value).epsilon(1e-12); }

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("platforms: every file is named after its platform, lists its sources and stands in the table") {
  const std::string table = content(kFolder / "README.md");
  const std::vector<std::string> names = shipped_names();
  CHECK(names.size() >= 14);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(shipped(name).spec.name == name);
    const std::string text = content(kFolder / (name + ".yaml"));
    CHECK(text.find("# Sources") != std::string::npos);
    CHECK(text.find("assumed") != std::string::npos);
    CHECK(table.find("(" + name + ".yaml)") != std::string::npos);
  }
}

TEST_CASE("platforms: kinds are those the cost model knows, with the same memory and bandwidth") {
  for (const std::string& name : shipped_names()) {
    for (const DeviceKind& kind : shipped(name).spec.device_kinds) {
      CAPTURE(kind.name);
      const auto known = find_device(kind.name);
      REQUIRE(known.has_value());
      CHECK(kind.memory == known->memory);
      CHECK(kind.update_bandwidth == known->memory_bandwidth);
      const double ratio = known->fp32.value() / find_device("V100-SXM2-16GB")->fp32.value();
      CHECK(kind.speed.value_or(0) == doctest::Approx(ratio).epsilon(1e-3));
    }
  }
}

TEST_CASE("platforms: the quick-start has four nodes of four devices, 10 Gbps between them") {
  const Platform platform = shipped("p3.8xlarge-x4");
  CHECK(platform.devices.size() == 16);
  const std::vector<Level> found = levels(platform);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Level{4, BytesPerSecond(25e9)});
  CHECK(found[1] == Level{4, BytesPerSecond(1.25e9)});
  // An NVLink to each of the three others: what a GPU sends to one of them takes nothing from another.
  for (const char* link : {"gpu0->gpu1", "gpu0->gpu2", "gpu0->gpu3"}) {
    const auto found_link = std::ranges::find(platform.links.items(), link, &Link::name);
    REQUIRE(found_link != platform.links.items().end());
    CHECK(found_link->bandwidth == BytesPerSecond(25e9));
  }
}

TEST_CASE("platforms: two nodes of eight devices, 25 Gbps between them") {
  const std::vector<Level> found = levels(shipped("p3.16xlarge-x2"));
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Level{8, BytesPerSecond(25e9)});
  CHECK(found[1] == Level{2, BytesPerSecond(3.125e9)});
}

TEST_CASE("platforms: a single DGX A100 is one level") {
  const std::vector<Level> found = levels(shipped("dgx-a100"));
  REQUIRE(found.size() == 1);
  CHECK(found[0] == Level{8, BytesPerSecond(300e9)});
}

TEST_CASE("platforms: four DGX A100 on one switch") {
  const std::vector<Level> found = levels(shipped("dgx-a100-80gb-x4"));
  REQUIRE(found.size() == 2);
  CHECK(found[0] == Level{8, BytesPerSecond(300e9)});
  CHECK(found[1] == Level{4, BytesPerSecond(25e9)});
}

TEST_CASE("platforms: what is published of whole machines") {
  const auto bisection_of = [](const std::string& name) { return bisection(shipped(name))->bandwidth.value(); };
  const auto into_first_device = [](const std::string& name) {  // all links of the first device, one direction
    const Platform platform = shipped(name);
    double sum = 0.0;
    for (const Link& link : platform.links) {
      if (link.name == "gpu0.up" || link.name.starts_with("gpu0->")) sum += link.bandwidth.value();
    }
    return sum;
  };
  // NVLink in both directions together: 300 GB/s of a V100, 600 of an A100, 900 of an H100 and of an H200
  for (const char* name : {"dgx-1-v100", "p3.16xlarge-x2"}) CHECK(2 * into_first_device(name) == near(300e9));
  for (const char* name : {"dgx-a100", "dgx-a100-80gb-x4", "perlmutter-gpu"})
    CHECK(2 * into_first_device(name) == near(600e9));
  for (const char* name : {"dgx-h100", "hgx-h200", "superpod-h100-64"})
    CHECK(2 * into_first_device(name) == near(900e9));
  CHECK(bisection_of("dgx-1-v100") == near(150e9));     // six NVLinks join the halves of the mesh
  CHECK(2 * bisection_of("dgx-a100") == near(2.4e12));  // both directions: "Introducing NVIDIA HGX H100", 2022
  CHECK(2 * bisection_of("dgx-h100") == near(3.6e12));  // the same
  CHECK(bisection_of("superpod-h100-512") == near(2048 * 50e9));  // half of 4096 cables of 400 Gb/s
  CHECK(shipped("superpod-h100-512").devices.size() == 4096);
  CHECK(bisection_of("superpod-h100-64") == near(32 * 50e9));  // 400 Gb/s for each GPU of a half
  CHECK(bisection_of("dgx-a100-80gb-x4") == near(16 * 25e9));  // 200 Gb/s for each GPU of a half
  CHECK(shipped("perlmutter-gpu").devices.size() == 6144);
  // each of a DGX-1's four ports has 100 Gb/s, so one GPU has no more than that to another server
  CHECK(pair_bandwidth(shipped("cluster-v100-a100"), DeviceId(0), DeviceId(8)) == BytesPerSecond(12.5e9));
  const Platform dgx_1 = shipped("dgx-1-v100");
  CHECK(std::ranges::count_if(dgx_1.links.items(), [](const Link& link) {
          return link.name.starts_with("node0.nic") && link.bandwidth == BytesPerSecond(12.5e9);
        }) == 4 * 2);
  // four NVLinks of 25 GB/s between any two of Perlmutter's GPUs
  CHECK(pair_bandwidth(shipped("perlmutter-gpu"), DeviceId(0), DeviceId(3)) == BytesPerSecond(100e9));
}

TEST_CASE("platforms: GPUs of one number share a leaf switch of a SuperPOD, others cross its spine") {
  const Platform pod = shipped("superpod-h100-64");
  REQUIRE(pod.devices.size() == 64);
  const auto way = [&](std::uint32_t from, std::uint32_t to) {
    Route route;
    REQUIRE(find_route(pod, pod.place(DeviceId(from)), pod.place(DeviceId(to)), route));
    std::string names;
    for (const LinkId link : route.links) names += pod.links[link].name + " ";
    return names;
  };
  CHECK(way(3, 11) == "gpu3.nic.up gpu11.nic.down ");
  CHECK(way(3, 12) == "gpu3.nic.up rail3.up rail4.down gpu12.nic.down ");
}

TEST_CASE("platforms: each GPU of a DGX-1 has six NVLinks, to its four neighbours in the mesh") {
  // `nvidia-smi topo -m`: links of GPU i to GPU j
  const std::vector<std::vector<int>> published = {
      {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
      {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0}};
  for (const char* name : {"dgx-1-v100", "p3.16xlarge-x2", "mixed-2x8", "cluster-v100-a100"}) {
    const Platform platform = shipped(name);
    std::vector<std::vector<int>> links(8, std::vector<int>(8, 0));
    for (std::uint32_t a = 0; a < 8; ++a) {
      for (std::uint32_t b = 0; b < 8; ++b) {
        const std::string wire = "gpu" + std::to_string(a) + "->gpu" + std::to_string(b);
        const auto found = std::ranges::find(platform.links.items(), wire, &Link::name);
        if (found != platform.links.items().end()) links[a][b] = static_cast<int>(found->bandwidth.value() / 25e9);
      }
      CHECK(std::accumulate(links[a].begin(), links[a].end(), 0) == 6);
    }
    CHECK(links == published);
  }
}

TEST_CASE("platforms: MadPipe's pairs have one link for both directions") {
  const Platform platform = shipped("madpipe-12GBps");
  CHECK(platform.links.size() == 28);
  for (const Link& link : platform.links) {
    CHECK(link.sharing == Sharing::Exclusive);
    CHECK(link.bandwidth == BytesPerSecond(12e9));
    CHECK(link.latency == Seconds(0));
  }
  CHECK(smallest_pair_bandwidth(shipped("madpipe-24GBps")) == BytesPerSecond(24e9));
}

TEST_CASE("platforms: every pair of every platform is connected") {
  for (const std::string& name : shipped_names()) {
    CAPTURE(name);
    CHECK(smallest_pair_bandwidth(shipped(name)).has_value());
  }
}

TEST_CASE("platforms: the mixed server joins its pairs by shared half-duplex links") {
  const Platform platform = shipped("mixed-v100-a100");
  REQUIRE(platform.devices.size() == 4);
  Route there;
  Route back;
  REQUIRE(find_route(platform, platform.place(DeviceId(0)), platform.place(DeviceId(3)), there));
  REQUIRE(find_route(platform, platform.place(DeviceId(2)), platform.place(DeviceId(1)), back));
  CHECK(there.latency.value() == doctest::Approx(6e-6));
  REQUIRE(there.links.size() == 2);
  REQUIRE(back.links.size() == 2);
  CHECK(there.links[0] == back.links[1]);  // half duplex: the same resource in both directions
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(3)) == BytesPerSecond(12e9));
  CHECK(pair_bandwidth(platform, DeviceId(0), DeviceId(1)) == BytesPerSecond(50e9));
}
