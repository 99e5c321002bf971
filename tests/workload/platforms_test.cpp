#include "sim/io/platform_file.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/catalogue.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
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

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("platforms: every file is named after its platform, lists its sources and stands in the table") {
  const std::string table = content(kFolder / "README.md");
  const std::vector<std::string> names = shipped_names();
  CHECK(names.size() >= 4);
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
