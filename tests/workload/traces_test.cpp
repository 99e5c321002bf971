#include "sim/io/model_file.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
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
struct Command {
  Recipe recipe;
  std::string device;
  std::int64_t samples = 0;
  bool only_recipe = false;
  std::string file;
};

std::vector<Command> commands() {
  static const std::regex kCommand(
      R"(stagecraft model (\S+)(?: --image (\d+))?(?: --granularity (\w+))? --device (\S+) )"
      R"(--precision (\w+) --microbatch-size (\d+)( --recipe)? > traces/(\S+\.yaml)\n)");
  const std::string readme = content(kFolder / "README.md");
  std::vector<Command> list;
  for (std::sregex_iterator at(readme.begin(), readme.end(), kCommand), end; at != end; ++at) {
    const std::smatch& part = *at;
    Recipe recipe{part[1], std::nullopt, part[3].matched ? part[3].str() : "layer"};
    if (part[2].matched) recipe.image = std::stoll(part[2]);
    REQUIRE(to_string(find_device(part[4].str()).value().precision) == part[5].str());  // the files leave it out
    list.push_back({recipe, part[4], std::stoll(part[6]), part[7].matched, part[8]});
  }
  return list;
}

}  // namespace

TEST_CASE("traces: each file is what its command makes, byte for byte, and reads back to the same model") {
  const std::vector<Command> list = commands();
  CHECK(list.size() >= 5);
  for (const Command& command : list) {
    CAPTURE(command.file);
    const std::optional<Model> found = computed_model(command.recipe, command.device, command.samples);
    REQUIRE(found.has_value());
    const Model& model = *found;
    const std::string made = write_model(model, command.only_recipe);
    const std::string shipped = content(kFolder / command.file);
    CHECK_MESSAGE((made == shipped), "run the command of traces/README.md and say in CHANGELOG.md what changed");
    CHECK((read_model_file((kFolder / command.file).string()) == model));
  }
}

TEST_CASE("traces: every file has its command") {
  std::set<std::string> known;
  for (const Command& command : commands()) known.insert(command.file);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    CHECK_MESSAGE(known.contains(entry.path().filename().string()), entry.path().string());
  }
  CHECK(files == known.size());
}

TEST_CASE("traces: a profile says in its source that it was computed, how, and from which network") {
  for (const Command& command : commands()) {
    const std::string source = read_model_file((kFolder / command.file).string()).profiles.at(0).source;
    CHECK(source.find("not measured") != std::string::npos);
    CHECK(source.find("architecture " + command.recipe.architecture + " ") != std::string::npos);
    CHECK(source.find("device description " + command.device) != std::string::npos);
    CHECK(source.find(find_architecture(command.recipe.architecture)->source) != std::string::npos);
  }
}

}  // namespace stagecraft::traces_test
