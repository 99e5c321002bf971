// Files in the dialect of simulators beside counts that were computed from them independently.
#include "sim/io/hf_config.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace stagecraft {
namespace {

const std::filesystem::path kReference = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "reference";

}  // namespace

TEST_CASE("config.json: the files of a simulator have the parameters and active parameters that were counted for them" *
          doctest::skip(!std::filesystem::exists(kReference / "parallelism/hf-like-configs.json"))) {
  std::ifstream in(kReference / "parallelism/hf-like-configs.json");
  const nlohmann::json cases = nlohmann::json::parse(in).at("cases");
  CHECK(cases.size() == 18);
  for (const nlohmann::json& each : cases) {
    const std::string file = each.at("inputs").at("file").get<std::string>();
    CAPTURE(file);
    const HfConfig config = read_hf_config((kReference / "hf-like-configs" / file).string());
    CHECK(parameter_count(config.network) == each.at("expected").at("parameters").get<std::int64_t>());
    CHECK(active_parameter_count(config.network) == each.at("expected").at("active_parameters").get<std::int64_t>());
  }
}

TEST_CASE("config.json: every file of a simulator is read" *
          doctest::skip(!std::filesystem::exists(kReference / "hf-like-configs"))) {
  std::int64_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kReference / "hf-like-configs")) {
    if (entry.path().extension() != ".json") continue;
    CAPTURE(entry.path().filename().string());
    CHECK_NOTHROW(static_cast<void>(read_hf_config(entry.path().string())));
    ++files;
  }
  CHECK(files == 28);
}

}  // namespace stagecraft
