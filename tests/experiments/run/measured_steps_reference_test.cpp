// Published training steps, to which the constants of the devices were fitted by another program: GPT of hidden 1024
// and 2048 on one node of A100 (vTrain), Llama on H100 (NVIDIA DGX Cloud).
#include "sim/analytic/evaluate_plan.hpp"
#include "sim/io/platform_file.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/transformer.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::measured_steps_test {
namespace {

using Row = std::map<std::string, std::string>;

/// The fields of a line, some of which are quoted.
std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> list(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted) list.emplace_back();
    if (c != '"' && (c != ',' || quoted)) list.back() += c;
  }
  return list;
}

std::vector<Row> rows_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> names = fields(line);
  std::vector<Row> rows;
  while (std::getline(in, line)) {
    const std::vector<std::string> values = fields(line);
    REQUIRE(values.size() == names.size());
    Row& row = rows.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = values[i];
  }
  return rows;
}

std::int64_t count(const Row& row, const std::string& column) { return std::stoll(row.at(column)); }

/// The words of GPT-2, padded as Megatron-LM does.
std::int64_t padded_words(std::int64_t tensor) {
  const std::int64_t step = 128 * tensor;
  return (50257 + step - 1) / step * step;
}

LayerGraph graph_of(const Row& row, const Degrees& degrees) {
  const Architecture net = gpt("gpt", {.layers = count(row, "layers"),
                                       .hidden = count(row, "hidden"),
                                       .heads = count(row, "heads"),
                                       .sequence = count(row, "seq"),
                                       .vocabulary = padded_words(degrees.tensor),
                                       .positions = count(row, "seq")});
  const DeviceDescription device = find_device("A100-SXM4-80GB", Precision::Fp16).value();
  return build_model(net, device, count(row, "microbatch"), Granularity::Block, degrees).profiles.front();
}

/// As many blocks on each stage; the table of words is on the first, the loss on the last.
Plan plan_of(const Row& row, const LayerGraph& graph, const Degrees& degrees) {
  const std::int64_t stages = count(row, "pp");
  const std::int64_t replicas = count(row, "dp");
  Plan plan;
  plan.degrees = degrees;
  plan.microbatch_size = count(row, "microbatch");
  plan.microbatches = count(row, "global_batch") / plan.microbatch_size;
  plan.schedule.name = "1f1b";
  plan.stages.resize(static_cast<std::size_t>(stages));
  const auto layers = static_cast<std::int64_t>(graph.layers.size());
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::int64_t block = std::clamp<std::int64_t>(layer - 1, 0, layers - 3);
    plan.stages[static_cast<std::size_t>(block * stages / (layers - 2))].layers.emplace_back(layer);
  }
  std::size_t device = 0;
  for (Stage& stage : plan.stages) {
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      Group group;
      for (std::int64_t member = 0; member < degrees.tensor * degrees.context; ++member)
        group.devices.emplace_back(device++);
      stage.replicas.push_back(std::move(group));
    }
  }
  return plan;
}

Platform platform_of(const Row& row) {
  return build_platform(parse_platform(R"(schema: stagecraft/platform/1
platform: vtrain
collectives: {efficiency: 0.95, latency: 72 us}
device_kinds:
  A100-SXM4-80GB: {memory: 80 GiB, update_bandwidth: 1937 GBps, pass_overhead: 28 us, update_overhead: 1.4 ms}
node_kinds:
  node:
    devices: {kind: A100-SXM4-80GB, count: )" +
                                           row.at("gpus") + R"(}
    interconnect: {type: switch, bandwidth: 300 GBps, latency: 0.5 us}
nodes: {kind: node, count: 1}
)",
                                       "vtrain.yaml"));
}

double error_of(const Row& row) {
  const Degrees degrees{.tensor = count(row, "tp"), .sequence = false};
  const LayerGraph graph = graph_of(row, degrees);
  const Report report = evaluate_plan(graph, platform_of(row), plan_of(row, graph, degrees));
  return report.iterations.back().value() / std::stod(row.at("iteration_s")) - 1.0;
}

}  // namespace

TEST_CASE("measured steps: GPT on a node of A100 is met within 5 % in the median and 7 % in the mean") {
  const std::filesystem::path path =
      std::filesystem::path(STAGECRAFT_SHARED_DIR) / "measurements/vtrain-single-node.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no measurements at ", path.string());
    return;
  }
  std::vector<double> errors;
  for (const Row& row : rows_of(path)) errors.push_back(std::abs(error_of(row)));
  REQUIRE(errors.size() == 900);
  std::ranges::sort(errors);
  double sum = 0;
  for (const double error : errors) sum += error;
  CHECK(errors[errors.size() / 2] < 0.05);
  CHECK(sum / static_cast<double>(errors.size()) < 0.07);
  CHECK(errors.back() < 0.40);
}

// Llama 3 8B on shipped platforms, which have the network's figures. The batch of 8 GPUs in bf16, published as 12.27 s;
// in fp8 as 9.33 s.
TEST_CASE("measured steps: Llama 3 8B on a DGX H100 is met within 3 % in bf16 and 5 % in fp8") {
  const Platform platform =
      build_platform(read_platform_file(std::string(STAGECRAFT_SOURCE_DIR) + "/platforms/dgx-h100.yaml"));
  const Degrees degrees{.context = 2};
  struct Published {
    Precision precision;
    double seconds;
    double error;
  };
  for (const auto& [precision, measured, error] :
       {Published{Precision::Bf16, 12.27, 0.03}, Published{Precision::Fp8, 9.33, 0.05}}) {
    const DeviceDescription device = find_device("H100-SXM5-80GB", precision).value();
    const Architecture net = find_architecture("llama3-8b").value();
    const LayerGraph graph = build_model(net, device, 1, Granularity::Block, degrees).profiles.front();
    Plan plan = plan_of({{"pp", "1"}, {"dp", "4"}, {"microbatch", "1"}, {"global_batch", "128"}}, graph, degrees);
    plan.training.zero = 1;
    const Report report = evaluate_plan(graph, platform, plan);
    CHECK(report.iterations.back().value() == doctest::Approx(measured).epsilon(error));
  }
}

}  // namespace stagecraft::measured_steps_test
