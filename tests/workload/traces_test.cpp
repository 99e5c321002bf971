#include "sim/io/model_file.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::traces_test {

namespace {

const std::filesystem::path kFolder = std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "traces";

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// One command of traces/README.md.
struct Recipe {
  std::string network;
  std::int64_t image = 0;  ///< 0: the network's own
  Granularity granularity = Granularity::Layer;
  std::string device;
  std::int64_t samples = 0;
  std::string file;
};

std::vector<Recipe> recipes() {
  static const std::regex kCommand(
      R"(stagecraft model (\S+)(?: --image (\d+))?( --granularity block)? --device (\S+) --microbatch-size (\d+) > traces/(\S+\.yaml)\n)");
  const std::string readme = content(kFolder / "README.md");
  std::vector<Recipe> list;
  for (std::sregex_iterator at(readme.begin(), readme.end(), kCommand), end; at != end; ++at) {
    const std::smatch& part = *at;
    list.push_back({part[1], part[2].matched ? std::stoll(part[2]) : 0,
                    part[3].matched ? Granularity::Block : Granularity::Layer, part[4], std::stoll(part[5]), part[6]});
  }
  return list;
}

}  // namespace

TEST_CASE("traces: each file is what its command makes, byte for byte, and reads back to the same model") {
  const std::vector<Recipe> list = recipes();
  CHECK(list.size() >= 5);
  for (const Recipe& recipe : list) {
    CAPTURE(recipe.file);
    const auto network =
        recipe.image == 0 ? find_architecture(recipe.network) : find_architecture(recipe.network, recipe.image);
    const auto device = find_device(recipe.device);
    REQUIRE(network.has_value());
    REQUIRE(device.has_value());
    const Model model = build_model(*network, *device, recipe.samples, recipe.granularity);
    const std::string made = write_model(model);
    const std::string shipped = content(kFolder / recipe.file);
    CHECK_MESSAGE((made == shipped), "run the command of traces/README.md and say in CHANGELOG.md what changed");
    CHECK((read_model_file((kFolder / recipe.file).string()) == model));
  }
}

TEST_CASE("traces: every file has its command") {
  std::set<std::string> known;
  for (const Recipe& recipe : recipes()) known.insert(recipe.file);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    CHECK_MESSAGE(known.contains(entry.path().filename().string()), entry.path().string());
  }
  CHECK(files == known.size());
}

TEST_CASE("traces: a profile says in its source that it was computed, how, and from which network") {
  for (const Recipe& recipe : recipes()) {
    const std::string source = read_model_file((kFolder / recipe.file).string()).profiles.at(0).source;
    CHECK(source.find("not measured") != std::string::npos);
    CHECK(source.find("architecture " + recipe.network + " ") != std::string::npos);
    CHECK(source.find("device description " + recipe.device) != std::string::npos);
    CHECK(source.find(find_architecture(recipe.network)->source) != std::string::npos);
  }
}

}  // namespace stagecraft::traces_test
