// Every shipped and example file is judged twice: by its JSON Schema and by its reader.
#include "sim/io/json_schema.hpp"

#include "sim/base/error.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/json.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/request_file.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/io/yaml_values.hpp"
#include "sim/model/graph_order.hpp"
#include "tests/paths.hpp"
#include "tests/schema_validator.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace stagecraft::json_schema_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// The validator of a format, made once for all tests.
testing::SchemaValidator& validator_of(const std::string& format) {
  static std::map<std::string, testing::SchemaValidator> known;
  return known.try_emplace(format, Json::parse(json_schema(format))).first->second;
}

const fs::path kSource = STAGECRAFT_SOURCE_DIR;
const fs::path kGood = kSource / "tests/vectors/good";

/// NAME in `schema: stagecraft/NAME/1`, without reading the file as YAML; empty if there is none.
std::string format_of(const fs::path& path) {
  const std::string text = read_text_file(path.string());
  const std::size_t key = text.find("schema");
  const std::size_t begin = text.find('/', key);
  if (begin == std::string::npos) return "";
  return text.substr(begin + 1, text.find('/', begin + 1) - begin - 1);
}

/// But for files `config_…`, whose format is another program's (tests/io/hf_config_test.cpp).
std::vector<fs::path> data_files() {
  std::vector<fs::path> files;
  for (const fs::path& folder : {kGood, kSource / "platforms", kSource / "traces", kSource / "experiments/studies"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension().string();
      if (entry.path().filename().string().starts_with("config_")) continue;
      if (extension == ".yaml" || extension == ".json") files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

Json as_json(const std::string& text, const std::string& name) {
  return Json::parse(to_json(read_detail(parse_yaml(text, name))));
}

/// A plan among the good examples names a model and a platform beside it.
void read_plan(const fs::path& path) {
  const PlanHeader header = read_plan_header(path.string());
  const Model model = read_model_file((kGood / ("model_" + header.model + ".yaml")).string());
  const Platform platform =
      build_platform(read_platform_file((kGood / ("platform_" + header.platform + ".yaml")).string()));
  const LayerGraph graph = at_microbatch_size(model, header.microbatch_size);
  const PlanReading reading = parse_plan(read_text_file(path.string()), path.string(), graph, platform);
  CHECK(reading.problems.empty());
  const std::string again = write_plan_yaml(reading.plan, graph, platform);
  CHECK(parse_plan(again, "again", graph, platform).plan == reading.plan);
}

/// Reads the file, writes it again and reads that.
void read_model(const fs::path& path) {
  const Model model = read_model_file(path.string());
  CHECK(parse_model(write_model(model), "again") == model);
}
void read_platform(const fs::path& path) {
  const PlatformSpec spec = read_platform_file(path.string());
  CHECK(parse_platform(write_platform(spec), "again") == spec);
}

void read_schedule(const fs::path& path) {
  const Platform platform = build_platform(read_platform_file((kGood / "platform_two_nodes.yaml").string()));
  static_cast<void>(parse_schedule(read_text_file(path.string()), path.string(), platform));
}

void read_events(const fs::path& path) {
  const std::vector<NamedEvent> events = parse_events(read_text_file(path.string()), path.string());
  CHECK(parse_events(write_events(events), "again") == events);
}

const std::map<std::string, std::function<void(const fs::path&)>>& readers() {
  static const std::map<std::string, std::function<void(const fs::path&)>> kReaders = {
      {"model", read_model},
      {"platform", read_platform},
      {"plan", read_plan},
      {"events", read_events},
      {"architecture",
       [](const fs::path& path) {
         static_cast<void>(parse_architecture(read_text_file(path.string()), path.string()));
       }},
      {"device",
       [](const fs::path& path) { static_cast<void>(parse_device(read_text_file(path.string()), path.string())); }}};
  return kReaders;
}

}  // namespace

TEST_CASE("json schema: every shipped and example file passes its schema and its reader") {
  std::map<std::string, int> seen;
  for (const fs::path& path : data_files()) {
    CAPTURE(path.string());
    const std::string format = format_of(path);
    ++seen[format];
    const std::vector<std::string> known = schema_names();
    if (std::ranges::find(known, format) == known.end()) {
      FAIL_CHECK("the format '" << format << "' has no file in sim/io/schemas");
      continue;
    }
    CHECK(validator_of(format).refusal(as_json(read_text_file(path.string()), path.string())) == "");
    const auto reader = readers().find(format);
    if (reader != readers().end()) CHECK_NOTHROW(reader->second(path));
  }
  for (const auto& [format, reader] : readers()) {
    CAPTURE(format);
    CHECK(seen[format] > 0);
  }
}

TEST_CASE("json schema: defects that a schema can see are refused by it, too") {
  const std::map<std::string, std::string> refused = {{"model_missing_device", "model"},
                                                      {"model_unknown_layer_key", "model"},
                                                      {"model_time_without_unit", "model"},
                                                      {"model_no_layers", "model"},
                                                      {"platform_unknown_key", "platform"},
                                                      {"platform_bandwidth_unit", "platform"},
                                                      {"platform_mixed_forms", "platform"},
                                                      {"platform_unknown_duplex", "platform"},
                                                      {"platform_transport_unknown", "platform"},
                                                      {"platform_interconnect_key_of_another_type", "platform"},
                                                      {"platform_interconnect_misspelt_key", "platform"},
                                                      {"platform_cube_mesh_of_four", "platform"},
                                                      {"platform_cube_mesh_doubles_three", "platform"},
                                                      {"platform_cube_mesh_doubles_ninth_device", "platform"},
                                                      {"platform_pcie_without_switches", "platform"},
                                                      {"platform_pcie_joins_one_socket", "platform"},
                                                      {"platform_pcie_uplink_unknown_key", "platform"},
                                                      {"platform_explicit_host_without_link", "platform"},
                                                      {"platform_host_without_link", "platform"},
                                                      {"platform_network_key_of_another_type", "platform"},
                                                      {"platform_speed_too_high", "platform"},
                                                      {"platform_network_port_without_latency", "platform"},
                                                      {"platform_network_port_of_duplex_alone", "platform"},
                                                      {"platform_network_full_without_bandwidth", "platform"},
                                                      {"platform_torus_without_sizes", "platform"},
                                                      {"platform_torus_of_size_zero", "platform"},
                                                      {"platform_torus_of_too_many_dimensions", "platform"},
                                                      {"platform_fat_tree_missing_levels", "platform"},
                                                      {"platform_fat_tree_no_levels", "platform"},
                                                      {"platform_fat_tree_unknown_key", "platform"},
                                                      {"platform_fat_tree_no_children", "platform"},
                                                      {"platform_fat_tree_no_uplinks", "platform"},
                                                      {"platform_fat_tree_oversubscribed_by_zero", "platform"},
                                                      {"platform_fat_tree_oversubscribed_too_much", "platform"},
                                                      {"platform_fat_tree_of_too_many_levels", "platform"},
                                                      {"platform_dragonfly_without_global_links", "platform"},
                                                      {"platform_dragonfly_routers_of_no_nodes", "platform"},
                                                      {"plan_unknown_replication", "plan"},
                                                      {"plan_no_stages", "plan"},
                                                      {"plan_zero_of_a_word", "plan"},
                                                      {"plan_zero_out_of_range", "plan"},
                                                      {"plan_pattern_both_places", "plan"},
                                                      {"plan_zero_microbatches", "plan"},
                                                      {"architecture_missing_sequence", "architecture"},
                                                      {"architecture_key_of_another_family", "architecture"},
                                                      {"architecture_unknown_head", "architecture"},
                                                      {"architecture_empty_block", "architecture"},
                                                      {"architecture_resnet_missing_blocks", "architecture"},
                                                      {"architecture_resnet_channels_for_counts", "architecture"},
                                                      {"architecture_alexnet_with_blocks", "architecture"},
                                                      {"architecture_unknown_residual_block", "architecture"},
                                                      {"events_both_times", "events"},
                                                      {"events_no_time", "events"},
                                                      {"events_no_change", "events"},
                                                      {"events_two_changes", "events"},
                                                      {"events_jitter_of_a_device", "events"},
                                                      {"events_link_of_three_devices", "events"},
                                                      {"events_sigma_too_large", "events"},
                                                      {"events_slowdown_too_large", "events"},
                                                      {"events_model_at_a_time", "events"},
                                                      {"device_missing_source", "device"},
                                                      {"device_efficiency_above_one", "device"},
                                                      {"device_unknown_precision", "device"},
                                                      {"device_rate_without_unit", "device"}};
  for (const auto& [file, format] : refused) {
    CAPTURE(file);
    const std::string path = (kSource / "tests/vectors/bad" / (file + ".yaml")).string();
    CHECK_FALSE(validator_of(format).refusal(as_json(read_text_file(path), path)).empty());
  }
}

TEST_CASE("json schema: every request to a planner passes its schema, and its model and platform pass theirs") {
  const LayerGraph toy = read_model_file((kGood / "model_toy.yaml").string()).profiles.front();
  const LayerGraph branches = read_model_file((kGood / "model_branches.yaml").string()).profiles.front();
  const auto check = [&](const PlannerQuestion& question) {
    const std::string text = write_request(question);
    const Json request = Json::parse(text);
    const auto in_order = nlohmann::ordered_json::parse(text);
    CHECK(validator_of("request").refusal(request) == "");
    CHECK(validator_of("model").refusal(request["model"]) == "");
    CHECK(validator_of("platform").refusal(request["platform"]) == "");
    CHECK(parse_model(in_order["model"].dump(), "model").profiles.front() == question.graph);
    CHECK(parse_platform(in_order["platform"].dump(), "platform") == question.platform.spec);
    return request;
  };
  int platforms = 0;
  for (const fs::path& path : data_files()) {
    if (format_of(path) != "platform") continue;
    CAPTURE(path.string());
    const Platform platform = build_platform(read_platform_file(path.string()));
    const Json request =
        check({.graph = toy, .platform = platform, .schedule = {}, .training = {}, .options = {}, .seed = {}});
    const bool has_pairs = platform.devices.size() <= kMostPairedDevices;
    CHECK(request["bandwidth"].size() == (has_pairs ? platform.devices.size() : 0));
    CHECK(request["bandwidth"].is_null() != has_pairs);
    CHECK(request["devices"].size() == platform.devices.size());
    ++platforms;
  }
  CHECK(platforms > 20);
  const Platform platform = build_platform(read_platform_file((kGood / "platform_explicit.yaml").string()));
  const Json request = check({.graph = branches,
                              .platform = platform,
                              .schedule = ScheduleChoice{"1f1b", {{"chunks", 2}}},
                              .microbatches = 7,
                              .training = {.input_gradient_release = 0.5},
                              .options = {{"a", 1}, {"b", 0.5}, {"c", "text"}, {"d", true}},
                              .seed = 42});
  CHECK(request["cut_bytes"].size() + 1 == request["order"].size());
  CHECK(request["seed"] == 42);
  CHECK(request["schedule"]["chunks"] == 2);
}

TEST_CASE("json schema: defects of a study that a schema can see are refused by it, too") {
  testing::SchemaValidator& validator = validator_of("study");
  const std::string head = "schema: stagecraft/study/1\nstudy: bad\nbase: {model: vgg16}\n";
  CHECK(validator.refusal(as_json(head, "study.yaml")) == "");
  std::istringstream lines(read_text_file((kSource / "tests/vectors/refused_studies.txt").string()));
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK_FALSE(validator.refusal(as_json(head + line + "\n", "study.yaml")).empty());
  }
}

TEST_CASE("json schema: an unknown name lists the known ones") {
  CHECK_THROWS_WITH_AS(static_cast<void>(json_schema("plam")), doctest::Contains("did you mean 'plan'?"), InputError);
}
}  // namespace stagecraft::json_schema_test
