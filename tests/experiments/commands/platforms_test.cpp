// Each shipped platform through the whole program.
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(STAGECRAFT_SOURCE_DIR) + "/platforms")) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

std::size_t line_count(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

/// The text output of `describe`, run once for each platform.
const std::string& described(const std::string& platform) {
  static std::map<std::string, std::string> known;
  std::string& text = known[platform];
  if (text.empty()) text = run({"describe", platform}).out;
  return text;
}

/// From the first line, `platform NAME: COUNT devices on …`.
int device_count(const std::string& platform) {
  return std::stoi(described(platform).substr(std::string("platform : ").size() + platform.size()));
}

bool says(const std::string& text, const std::string& line) { return text.find(line + "\n") != std::string::npos; }

}  // namespace

TEST_CASE("platforms: each is described in at most forty lines") {
  for (const std::string& name : shipped_names()) {
    CAPTURE(name);
    const std::string text = described(name);
    CHECK(text.starts_with("platform " + name + ": "));
    CHECK(line_count(text) <= 40);
  }
}

TEST_CASE("platforms: a plan is made and replayed on each, or does not fit") {
  for (const std::string& name : shipped_names()) {
    for (const char* planner : {"data-parallel", "uniform"}) {
      const bool is_pipeline = std::string(planner) == "uniform";
      if (!is_pipeline && device_count(name) > 1000) continue;  // thousands of replicas are no small plan
      CAPTURE(name);
      CAPTURE(planner);
      std::vector<std::string> arguments = {"compare", "--model", "vgg16", "--platform", name, "--planners", planner};
      arguments.emplace_back("--json");
      if (is_pipeline) arguments.insert(arguments.end(), {"--microbatches", "16"});
      const Ran ran = run(arguments);
      const Json answer = Json::parse(ran.out);
      const Json& row = answer.at("models").at(0).at("rows").at(0);
      if (row.at("outcome") == "planned") {
        CHECK(ran.code == 0);
        CHECK(row.at("simulation").at("outcome") == "ok");
        CHECK(row.at("simulation").at("iteration_time_s").get<double>() > 0.0);
      } else {
        CHECK(ran.code == 3);
        CHECK(row.at("outcome") == "infeasible");
      }
    }
  }
}

TEST_CASE("describe: interconnects in words") {
  CHECK(says(described("dgx-1-v100"), "  8 x V100-SXM2-16GB, a cube mesh of links of 25 GBps, 8 doubled"));
  CHECK(says(described("dgx-h100"), "  8 x H100-SXM5-80GB, each with a link of 450 GBps to a switch"));
  CHECK(says(described("perlmutter-gpu"), "  4 x A100-SXM4-40GB, a link of 100 GBps for each pair"));
  CHECK(says(described("torus-v100-64"), "  4 x V100-SXM2-16GB, a ring of links of 50 GBps"));
  const std::string server = described("pcie-2080ti-x8");
  CHECK(says(server,
             "  8 x RTX-2080-Ti, PCIe with a link of 12 GBps for each device; 2 devices to a switch, uplinks of 12 "
             "GBps; 2 switches to a socket; 2 sockets, links of 30 GBps"));
  CHECK(says(server, "  host memory of 256 GiB, over the PCIe tree"));
  CHECK(says(described("madpipe-12GBps"),
             "  8 x V100-SXM2-16GB, a link of 12 GBps (half duplex, one transfer at a time) for each pair"));
  CHECK(says(described("p3.8xlarge-x4"), "  host memory of 244 GiB, a link of 12 GBps for every 2 devices"));
}

TEST_CASE("describe: networks in words, oversubscription, bisection and what never is the bottleneck") {
  const std::string tree = described("fat-tree-a100-512");
  CHECK(says(tree, "  level 1: 32 switches of 16 nodes, each with 64 uplinks of 25 GBps, oversubscribed 2 : 1"));
  CHECK(says(tree, "  level 2: 4 switches of 8 switches, each with 256 uplinks of 25 GBps, oversubscribed 2 : 1"));
  CHECK(says(tree, "  all levels together: oversubscribed 4 : 1"));
  // a half brings 2048 x 25 GBps, of which a quarter passes
  CHECK(says(tree, "bisection: 12.8 TBps each way, node0 .. node255 | node256 .. node511"));
  const std::string pod = described("superpod-h100-512");
  CHECK(says(pod, "  level 1: 16 switches of 32 nodes, each with an uplink of 12.8 TBps, not oversubscribed"));
  CHECK(says(pod, "never the bottleneck: 32 links"));
  CHECK(says(described("torus-v100-64"), "network: a torus of 4 x 4 x 4, links of 12.5 GBps"));
  CHECK(says(described("perlmutter-gpu"),
             "network: a dragonfly of 12 groups of 32 routers of 4 nodes; a link of 25 GBps for each pair of routers "
             "in a group, a link of 800 GBps for each pair of groups"));
  CHECK(says(described(std::string(STAGECRAFT_SOURCE_DIR) + "/tests/vectors/good/platform_rails.yaml"),
             "network: 4 rails, each a leaf switch with an uplink of 50 GBps to the spine"));
  const std::string rails = described("superpod-h100-64");
  CHECK(says(rails, "network: 8 rails, each a leaf switch with an uplink of 1.6 TBps to the spine"));
  CHECK(says(rails, "bisection: 1.6 TBps each way, node0 .. node3 | node4 .. node7"));
  CHECK(says(rails, "never the bottleneck: 16 links"));
  CHECK(says(described(std::string(STAGECRAFT_SOURCE_DIR) + "/tests/vectors/good/platform_ring.yaml"),
             "network: a ring of links of 5 GBps (half duplex)"));
  CHECK(says(described(std::string(STAGECRAFT_SOURCE_DIR) + "/tests/vectors/good/platform_full.yaml"),
             "network: a link of 5 GBps (one transfer at a time) for each pair of nodes"));
}

TEST_CASE("describe: ways to near, middle and far devices, in groups") {
  const Json pod = Json::parse(run({"describe", "superpod-h100-512", "--json"}).out);
  const Json& routes = pod.at("routes");
  REQUIRE(routes.size() == 4);
  CHECK(routes.at(0).at("to") == "gpu1");
  CHECK(routes.at(0).at("count") == 7);
  CHECK(routes.at(1).at("to_last") == "gpu255");
  CHECK(routes.at(1).at("count") == 248);
  CHECK(routes.at(2).at("links") ==
        Json::parse(R"(["gpu0.nic.up", "switch1.0.up", "switch1.1.down", "gpu256.nic.down"])"));
  CHECK(routes.at(2).at("count") == 3840);
  CHECK(routes.at(3).at("to") == "host0");
  CHECK(pod.at("bisection_bytes_per_s") == 102.4e12);
  const auto never =
      std::ranges::count_if(pod.at("links"), [](const Json& link) { return !link.at("can_be_bottleneck"); });
  CHECK(never == 32);
}

}  // namespace stagecraft
