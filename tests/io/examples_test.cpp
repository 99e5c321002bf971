// The examples of the format pages are read as they stand, and mutilated files never do worse than being refused.
#include "sim/base/error.hpp"
#include "sim/io/architecture_file.hpp"
#include "sim/io/device_file.hpp"
#include "sim/io/events_file.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/model_file.hpp"
#include "sim/io/plan_file.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/io/schedule_csv.hpp"
#include "sim/io/schedule_file.hpp"
#include "sim/io/text_file.hpp"
#include "sim/schedule/check_schedule.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

using namespace stagecraft;

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = STAGECRAFT_SOURCE_DIR;

/// The YAML blocks of a page that are whole files.
std::vector<std::string> whole_files(const std::string& page) {
  const std::string text = read_text_file((kRoot / "docs/reference/formats" / page).string());
  const std::string fence = "```yaml\n";
  std::vector<std::string> blocks;
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const std::size_t begin = at + fence.size();
    const std::string block = text.substr(begin, text.find("```", begin) - begin);
    if (block.starts_with("schema:")) blocks.push_back(block);
  }
  return blocks;
}

struct ToyInputs {
  LayerGraph graph;
  Platform platform;
};

const ToyInputs& toy_inputs() {
  static const ToyInputs kInputs = {
      read_model_file((kRoot / "tests/vectors/good/model_toy.yaml").string()).profiles.at(0),
      build_platform(read_platform_file((kRoot / "tests/vectors/good/platform_two_nodes.yaml").string()))};
  return kInputs;
}

/// One to four random edits: cut, double, overwrite or insert what breaks parsers.
std::string mutilated(std::string text, std::mt19937& random) {
  static const std::array<std::string, 26> kPieces = {
      "-",    ":",    "{",     "}",    "[",  "]", "\n", "  ", "&a ",  "*a",   "<<: ", "? ", "|\n",
      ">\n ", "!!t ", "---\n", "\x01", "\"", "'", "#",  "0",  "1e99", "null", ",",    "\t", "\xff"};
  const auto below = [&](std::size_t end) { return end == 0 ? 0 : random() % end; };
  for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
    const std::size_t at = below(text.size());
    const std::size_t length = 1 + below(20);
    const std::string& piece = kPieces.at(below(kPieces.size()));
    switch (below(4)) {
      case 0: text.erase(at, length); break;
      case 1: text.insert(at, text.substr(below(text.size()), length)); break;
      case 2: text.replace(at, std::min(length, text.size() - at), piece); break;
      default: text.insert(at, piece); break;
    }
  }
  return text;
}

/// Reads `rounds` mutilations; anything but a value or an InputError ends the test. Returns how many were refused.
int count_refusals(const std::string& text, int rounds, const std::function<void(const std::string&)>& read) {
  int refusals = 0;
  for (int seed = 1; seed <= rounds; ++seed) {
    std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
    const std::string broken = mutilated(text, random);
    CAPTURE(seed);
    CAPTURE(broken);
    try {
      read(broken);
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).starts_with("f:"));
      ++refusals;
    }
  }
  return refusals;
}

void read_model(const std::string& text) { static_cast<void>(parse_model(text, "f")); }
void read_platform(const std::string& text) { static_cast<void>(parse_platform(text, "f")); }
void read_plan(const std::string& text) {
  static_cast<void>(parse_plan(text, "f", toy_inputs().graph, toy_inputs().platform));
}
void read_architecture(const std::string& text) { static_cast<void>(parse_architecture(text, "f")); }
void read_device(const std::string& text) { static_cast<void>(parse_device(text, "f")); }
void read_schedule(const std::string& text) { static_cast<void>(parse_schedule(text, "f", toy_inputs().platform)); }
void read_events(const std::string& text) {
  static_cast<void>(resolve_events(parse_events(text, "f"), toy_inputs().platform));
}
void read_graph(const std::string& text) { static_cast<void>(import_pipedream(text, "f", 1, "A")); }

}  // namespace

TEST_CASE("examples: the files of the format pages are read") {
  const std::vector<std::string> models = whole_files("model.md");
  const std::vector<std::string> platforms = whole_files("platform.md");
  const std::vector<std::string> plans = whole_files("plan.md");
  const std::vector<std::string> schedules = whole_files("schedule.md");
  REQUIRE(models.size() == 1);
  REQUIRE(platforms.size() == 1);
  REQUIRE(plans.size() == 1);
  REQUIRE(schedules.size() == 3);
  CHECK(parse_model(models[0], "model.md").profiles.at(0).edges.size() == 3);
  CHECK(build_platform(parse_platform(platforms[0], "platform.md")).devices.size() == 16);
  const std::vector<std::string> architectures = whole_files("architecture.md");
  const std::vector<std::string> devices = whole_files("device.md");
  REQUIRE(architectures.size() == 5);
  REQUIRE(devices.size() == 1);
  CHECK(parse_architecture(architectures[0], "architecture.md").name == "bert-48-512");
  CHECK(parse_architecture(architectures[1], "architecture.md").name == "llama-of-our-own");
  CHECK(parse_architecture(architectures[2], "architecture.md").name == "resnet50-1000");
  CHECK(parse_architecture(architectures[3], "architecture.md").name == "amoebanet-d-18-104");
  CHECK(parse_architecture(architectures[4], "architecture.md").name == "t5-11b-summaries");
  CHECK(parse_device(devices[0], "device.md").precision == Precision::Fp32);
  const std::vector<std::string> events = whole_files("events.md");
  REQUIRE(events.size() == 1);
  CHECK(resolve_events(parse_events(events[0], "events.md"), toy_inputs().platform).size() == 15);
  const PlanReading reading = parse_plan(plans[0], "plan.md", toy_inputs().graph, toy_inputs().platform);
  CHECK(reading.problems.empty());
  CHECK(reading.plan.stages.size() == 2);
  for (const std::string& text : schedules) {
    CHECK(parse_schedule(text, "schedule.md", toy_inputs().platform).devices.size() == 2);
  }
}

TEST_CASE("examples: the table of the schedule page is the one among the vectors, which are orders of their plan") {
  const std::string text = read_text_file((kRoot / "docs/reference/formats/schedule.md").string());
  const std::string fence = "```text\n";
  const std::size_t begin = text.find(fence) + fence.size();
  const std::string table = text.substr(begin, text.find("```", begin) - begin);
  std::string vector = read_text_file((kRoot / "tests/vectors/good/table_of_computations.csv").string());
  std::erase(vector, '\r');
  CHECK(table == vector);
  const std::string plan = read_text_file((kRoot / "tests/vectors/good/plan_folded.yaml").string());
  const PlanReading reading = parse_plan(plan, "f", toy_inputs().graph, toy_inputs().platform);
  for (const char* name : {"computations", "transfers", "2024"}) {
    const std::string prefix = name == std::string("transfers") ? "table_with_" : "table_of_";
    const std::string good = read_text_file((kRoot / ("tests/vectors/good/" + prefix + name + ".csv")).string());
    const GivenOrders orders = parse_schedule_csv(good, "f", reading.plan, toy_inputs().platform);
    CHECK(
        check_schedule(toy_inputs().graph, toy_inputs().platform, reading.plan, orders.schedule, orders.steps).empty());
  }
}

TEST_CASE("examples: a mutilated file is read or refused, never worse (seeds 1 to 200)") {
  const auto example = [](const char* name) { return read_text_file((kRoot / "tests/vectors/good" / name).string()); };
  const std::string graph =
      "node1 -- LSTM(1, 2) -- forward_compute_time=1.500, backward_compute_time=41.300, activation_size=[8.0; 4.0], "
      "parameter_size=100.000\nnode2 -- Linear -- forward_compute_time=1, backward_compute_time=2, activation_size=6, "
      "parameter_size=7\n\tnode1 -- node2\n";
  CHECK(count_refusals(example("model_toy.yaml"), 200, read_model) > 50);
  CHECK(count_refusals(example("model_two_sizes.yaml"), 200, read_model) > 50);
  CHECK(count_refusals(example("architecture_bert.yaml"), 200, read_architecture) > 50);
  CHECK(count_refusals(example("architecture_vgg.yaml"), 200, read_architecture) > 50);
  CHECK(count_refusals(example("architecture_resnet.yaml"), 200, read_architecture) > 50);
  CHECK(count_refusals(example("architecture_densenet.yaml"), 200, read_architecture) > 50);
  CHECK(count_refusals(example("architecture_amoebanet.yaml"), 200, read_architecture) > 50);
  CHECK(count_refusals(example("device_full.yaml"), 200, read_device) > 50);
  CHECK(count_refusals(example("model_anchors.yaml"), 200, read_model) > 50);
  CHECK(count_refusals(example("platform_two_nodes.yaml"), 200, read_platform) > 50);
  CHECK(count_refusals(example("platform_explicit.yaml"), 200, read_platform) > 50);
  CHECK(count_refusals(example("platform_pcie_dragonfly.yaml"), 200, read_platform) > 50);
  CHECK(count_refusals(example("platform_fat_tree.yaml"), 200, read_platform) > 50);
  CHECK(count_refusals(example("plan_two_stages.yaml"), 200, read_plan) > 50);
  CHECK(count_refusals(example("plan_pattern.json"), 200, read_plan) > 50);
  CHECK(count_refusals(example("schedule_orders.yaml"), 200, read_schedule) > 50);
  CHECK(count_refusals(example("schedule_explicit.json"), 200, read_schedule) > 50);
  CHECK(count_refusals(example("events_all.yaml"), 200, read_events) > 50);
  CHECK(count_refusals(graph, 200, read_graph) > 50);
}
