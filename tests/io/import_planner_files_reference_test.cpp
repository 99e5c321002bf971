// Files that other planners publish: what is imported has the sums of the file, which are taken here once more.
#include "sim/io/import_dnn_partitioning.hpp"
#include "sim/io/import_piper.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/text_file.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

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

TEST_CASE("import dnn-partitioning: the sums of every published graph") {
  if (shared_is_absent()) return;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kProfiles / "dnn-partitioning")) {
    const std::filesystem::path& path = entry.path();
    if (path.extension() != ".json" || path.parent_path().filename() == "human-experts") continue;
    CAPTURE(path.string());
    ++files;
    const DnnPartitioningProfile profile =
        import_dnn_partitioning(read_text_file(path.string()), path.string(), 1, "V100", "ms");
    CHECK(parse_model(write_model(profile.model), "again") == profile.model);
    double forward = 0.0;
    double backward = 0.0;
    double sizes = 0.0;
    std::set<std::string> layers;
    const Json file = json_of(path);
    for (const Json& node : file.at("nodes")) {
      const Json& flag = node.at("isBackwardNode");
      const bool is_backward = flag.is_boolean() ? flag.get<bool>() : flag.get<int>() == 1;
      (is_backward ? backward : forward) += node.at("fpgaLatency").get<double>();
      if (is_backward) continue;
      sizes += node.at("size").get<double>();
      layers.insert(node.contains("colorClass") ? "class " + node.at("colorClass").dump() : node.at("id").dump());
    }
    const LayerTotals sum = totals(profile.model.profiles.at(0));
    CHECK(profile.model.profiles.at(0).layers.size() == layers.size());
    CHECK(sum.forward.value() * 1e3 == doctest::Approx(forward).epsilon(1e-13));
    CHECK(sum.backward.value() * 1e3 == doctest::Approx(backward).epsilon(1e-13));
    CHECK(static_cast<double>((sum.parameters + sum.stash).value()) == sizes);
    CHECK(profile.has_backwards == (backward > 0.0));
    CHECK((path.parent_path().filename() == "OperatorGraphs") == (profile.without_parts == 0));
  }
  CHECK(files == 24);
}

// A ResNet-50 has 25,557,032 parameters of four bytes.
TEST_CASE("import dnn-partitioning: weights of a graph of operators are the parameters of the network") {
  if (shared_is_absent()) return;
  const std::string path =
      (kProfiles / "dnn-partitioning/throughput-inputs/OperatorGraphs/resnet50_training.json").string();
  const DnnPartitioningProfile profile = import_dnn_partitioning(read_text_file(path), path, 1, "V100", "ms");
  CHECK(totals(profile.model.profiles.at(0)).parameters == Bytes(4 * 25557032));
}

}  // namespace stagecraft::import_planner_files_test
