// What `--help` of the commands shows.
#include "experiments/commands/verbs.hpp"
#include "experiments/view/text_width.hpp"
#include "tests/experiments/commands/command.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft {
namespace {

TEST_CASE("help: no line is wider than 100 columns, and each command has one to three examples") {
  std::istringstream whole(run({"--help"}).out);
  for (std::string line; std::getline(whole, line);) CHECK_MESSAGE(width_of(line) <= 100, line);
  for (const Verb* verb : all_verbs()) {
    CAPTURE(verb->name);
    std::istringstream help(run({verb->name, "--help"}).out);
    for (std::string line; std::getline(help, line);) CHECK_MESSAGE(width_of(line) <= 100, line);
    if (verb->name == "worker" || verb->only_serves) continue;  // which other programs start
    CHECK(verb->examples.size() >= 1);
    CHECK(verb->examples.size() <= 3);
    CHECK(run({verb->name, "--help"}).out.find("\n  " + verb->examples.back() + "\n") != std::string::npos);
  }
}

TEST_CASE("help: the examples run, typed one after the other in one folder") {
  const test::TemporaryFolder folder;
  std::filesystem::copy_file(STAGECRAFT_SOURCE_DIR "/tests/vectors/commands/pipedream_toy.graph", folder / "graph.txt");
  std::filesystem::copy_file(STAGECRAFT_SOURCE_DIR "/tests/vectors/good/config_llama2_7b.json", folder / "config.json");
  for (const char* name : {"jean-zay-v100.yaml", "gpt.yaml"}) {
    std::filesystem::copy_file(std::filesystem::path(STAGECRAFT_SOURCE_DIR) / "validation" / name, folder / name);
  }
  std::filesystem::copy_file(STAGECRAFT_SOURCE_DIR "/validation/jean-zay-v100.csv", folder / "steps.csv");
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const Verb* verb : all_verbs()) {
    for (const std::string& example : verb->examples) {
      CAPTURE(example);
      std::istringstream words(example);
      std::vector<std::string> arguments;
      for (std::string word; words >> word;) arguments.push_back(word);
      REQUIRE(arguments.at(0) == "stagecraft");
      REQUIRE(arguments.at(1) == verb->name);
      arguments.erase(arguments.begin());
      const Ran ran = run(arguments);
      CHECK_MESSAGE(ran.code == 0, ran.err);
    }
  }
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace stagecraft
