// Files that other planners publish: what is imported has the sums of the file, which are taken here once more.
#include "sim/io/import_piper.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace stagecraft::import_planner_files_test {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kProfiles = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles";

bool shared_is_absent() {
  if (std::filesystem::exists(kProfiles)) return false;
  MESSAGE("skipped: no profiles in " << kProfiles.string());
  return true;
}

Json json_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return Json::parse(stream);
}

double milliseconds(const LayerTotals& sum) { return (sum.forward + sum.backward).value() * 1e3; }

const Json& choice_of(const Json& node, const std::string& id) {
  for (const Json& choice : node.at("TMPCs").at("1")) {
    if (choice.at("id") == id) return choice;
  }
  throw std::runtime_error("no choice " + id);
}

}  // namespace

TEST_CASE("import piper: the sums of every published profile") {
  if (shared_is_absent()) return;
  for (const auto& [name, unit] :
       {std::pair<std::string, std::string>{"bert32a100", "s"}, {"gnmt", "ms"}, {"resnet", "ms"}}) {
    CAPTURE(name);
    const std::filesystem::path path = kProfiles / "piper" / (name + ".json");
    const PiperProfile profile = import_piper(read_text_file(path.string()), path.string(), 32, "A100", unit);
    CHECK(parse_model(write_model(profile.model), "again") == profile.model);
    const Json file = json_of(path);
    double time = 0.0;
    double forward = 0.0;
    double parameters = 0.0;
    double activations = 0.0;
    for (const Json& node : file.at("nodes")) {
      const Json& plain = choice_of(node, "vanilla");
      time += plain.at("timePerSample").get<double>();
      forward += choice_of(node, "activation recomp").at("timePerSample").get<double>() -
                 plain.at("timePerSample").get<double>();
      parameters += plain.at("parameterSize").get<double>();
      activations += plain.at("memoryUsageA").get<double>();
    }
    double bytes = 0.0;
    for (const Json& edge : file.at("edges")) bytes += edge.at("communicationCost").get<double>();
    const LayerGraph& graph = profile.model.profiles.at(0);
    const LayerTotals sum = totals(graph);
    const double unit_ms = unit == "s" ? 1e3 : 1.0;
    CHECK(milliseconds(sum) == doctest::Approx(time * unit_ms).epsilon(1e-14));
    CHECK(sum.forward.value() * 1e3 == doctest::Approx(forward * unit_ms).epsilon(1e-12));
    CHECK(static_cast<double>(sum.parameters.value()) == parameters);
    CHECK(static_cast<double>(sum.stash.value()) == activations);
    double carried = 0.0;
    for (const LayerEdge& edge : graph.edges) carried += static_cast<double>(edge.bytes.value());
    CHECK(carried == bytes);
    CHECK(profile.compute_per_transfer < 100.0);
    CHECK(profile.has_further_degrees == (name == "bert32a100"));
  }
}

}  // namespace stagecraft::import_planner_files_test
