// Profiles that Sailor publishes: what is imported has the times of the file, digit by digit, and their sums.
#include "sim/io/architecture_file.hpp"
#include "sim/io/import_sailor.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace stagecraft::import_sailor_reference_test {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kSailor = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles/sailor";

Architecture gpt(const std::string& name, int blocks, int hidden, int heads, int words) {
  return parse_architecture("schema: stagecraft/architecture/1\nfamily: gpt\nsequence: 2048\narchitecture: " + name +
                                "\nlayers: " + std::to_string(blocks) + "\nhidden: " + std::to_string(hidden) +
                                "\nheads: " + std::to_string(heads) + "\nvocabulary: " + std::to_string(words) + "\n",
                            name + ".yaml");
}

/// The network of a file, as its layers tell: the file of GPT-Neo on GH is equal to that of OPT.
SailorRun run_of(const Json& file) {
  const bool is_opt = file.at("1").at("1").size() == 26;
  return {is_opt ? gpt("opt-350m", 24, 1024, 16, 50272) : gpt("gpt-neo-2.7b", 32, 2560, 20, 50257), "a GPU"};
}

/// The profiles of one device, by size.
std::map<std::int64_t, Json> alone(const Json& file) {
  std::map<std::int64_t, Json> profiles;
  for (const auto& [samples, degrees] : file.items()) {
    if (degrees.contains("1")) profiles.emplace(std::stoll(samples), degrees.at("1"));
  }
  return profiles;
}

void check_profile(const LayerGraph& graph, const Json& layers) {
  CAPTURE(graph.microbatch_size);
  REQUIRE(graph.layers.size() == layers.size());
  double forward = 0.0;
  double backward = 0.0;
  for (const LayerId id : indices(graph.layers)) {
    const Json& times = layers.at(std::to_string(id.value()));
    CHECK(graph.layers[id].forward.value() == times.at(0).get<double>());
    CHECK(graph.layers[id].backward.value() == times.at(1).get<double>());
    forward += times.at(0).get<double>();
    backward += times.at(1).get<double>();
  }
  CHECK(totals(graph).forward.value() == forward);
  CHECK(totals(graph).backward.value() == backward);
}

}  // namespace

TEST_CASE("import sailor: the times of every published profile") {
  if (!std::filesystem::exists(kSailor)) {
    MESSAGE("skipped: no profiles in " << kSailor.string());
    return;
  }
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kSailor)) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().string());
    ++files;
    std::ifstream stream(entry.path());
    const Json file = Json::parse(stream);
    const SailorRun run = run_of(file);
    const SailorProfile profile = import_sailor(read_text_file(entry.path().string()), entry.path().string(), run);
    const std::map<std::int64_t, Json> expected = alone(file);
    REQUIRE(profile.model.profiles.size() == expected.size());
    std::size_t position = 0;
    for (const auto& [samples, layers] : expected) {
      const LayerGraph& graph = profile.model.profiles[position++];
      CHECK(graph.microbatch_size == samples);
      check_profile(graph, layers);
    }
    CHECK(profile.has_further_degrees);
    CHECK(profile.lacks_last_products == (run.network.name == "gpt-neo-2.7b"));
    CHECK(parse_model(write_model(profile.model), "again") == profile.model);
  }
  CHECK(files == 11);
}

}  // namespace stagecraft::import_sailor_reference_test
