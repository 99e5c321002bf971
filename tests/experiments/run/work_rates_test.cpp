#include "experiments/run/work_rates.hpp"

#include "experiments/view/rates_view.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/report.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "tests/experiments/commands/shell.hpp"
#include "tests/experiments/commands/toy.hpp"
#include "tests/planners/fixtures.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace stagecraft {
namespace {

using Json = nlohmann::json;

/// Three devices of these kinds, the last of which the measured part of `run_of` leaves out.
Platform platform_of(const std::string& first, const std::string& second) {
  PlatformSpec spec = testing::flat_platform(3).spec;
  spec.device_kinds = {{first, Bytes(1), 1.0, Bytes(0), std::nullopt}, {second, Bytes(1), 1.0, Bytes(0), std::nullopt}};
  std::get<ExplicitForm>(spec.form).devices[DeviceId(1)].kind = DeviceKindId(1);
  return build_platform(spec);
}

/// 10 samples per second.
Report run_of(std::size_t devices) {
  Report report;
  report.throughput = 10.0;
  for (std::size_t i = 0; i < devices; ++i) {
    DeviceReport& device = report.devices.emplace_back();
    device.device = DeviceId(i);
    if (i == 2) device.bubble_ratio.reset();
  }
  return report;
}

LayerGraph graph_in(const std::string& kind, const std::string& precision) {
  LayerGraph graph;
  graph.device_kind = kind;
  graph.precision = precision;
  graph.work = {Flops(6e12), Flops(1e12), 500};
  return graph;
}

}  // namespace

// 10 samples of 3 · 6 Tflop a second are 180 on one device and 90 on each of two.
TEST_CASE("work rates: a backward has twice the operations of the forward, which counts masked ones") {
  const Platform platform = platform_of("A100-SXM4-40GB", "A100-SXM4-80GB");
  const WorkRates one = work_rates(graph_in("A100-SXM4-40GB", "bf16"), platform, run_of(1));
  CHECK(one.tokens_per_second == 5000.0);
  CHECK(one.tflops_per_device == doctest::Approx(180.0));
  CHECK(one.mfu == doctest::Approx(180.0 / 312.0));
  const WorkRates two = work_rates(graph_in("A100-SXM4-40GB", "tf32"), platform, run_of(3));
  CHECK(two.tflops_per_device == doctest::Approx(90.0));
  CHECK(two.mfu == doctest::Approx(90.0 / 156.0));
}

TEST_CASE("work rates: the text says how many devices are counted where some stand idle") {
  const Platform platform = platform_of("A100-SXM4-40GB", "A100-SXM4-80GB");
  const LayerGraph graph = graph_in("A100-SXM4-40GB", "tf32");
  CHECK(rates_text(work_rates(graph, platform, run_of(2))) ==
        "5000 tokens/s, 90 TFLOP/s per device (2 of 3 devices), MFU 57.7 %");
  WorkRates all = work_rates(graph, platform, run_of(2));
  all.of_devices = 2;
  CHECK(rates_text(all) == "5000 tokens/s, 90 TFLOP/s per device, MFU 57.7 %");
}

TEST_CASE("work rates: the peaks of several kinds add up, each in the precision of its times") {
  const Platform platform = platform_of("A100-SXM4-40GB", "V100-SXM2-16GB");
  LayerGraph graph = graph_in("A100-SXM4-40GB", "fp16");
  CHECK(work_rates(graph, platform, run_of(2)).mfu == doctest::Approx(180.0 / (312.0 + 125.0)));
  graph.precision = "tf32";  // which a V100 does not have
  CHECK_FALSE(work_rates(graph, platform, run_of(2)).mfu.has_value());
  graph.own_times = computed_model({"vgg16", std::nullopt, "block"}, "A100-SXM4-40GB", 1)->computed;
  CHECK(work_rates(graph, platform, run_of(2)).mfu == doctest::Approx(180.0 / (156.0 + 15.7)));
}

TEST_CASE("work rates: what is not known is left out") {
  const Platform platform = platform_of("own", "A100-SXM4-40GB");
  LayerGraph graph = graph_in("own", "fp32");
  CHECK(work_rates(graph, platform, run_of(2)).tflops_per_device == doctest::Approx(90.0));
  CHECK_FALSE(work_rates(graph, platform, run_of(2)).mfu.has_value());
  graph.work.forward = Flops(0);
  CHECK(work_rates(graph, platform, run_of(2)) == WorkRates{5000.0, {}, {}});
  graph.work = {Flops(6e12), Flops(0), 0};
  CHECK_FALSE(work_rates(graph, platform, run_of(2)).tokens_per_second.has_value());
  CHECK(work_rates(graph, platform, Report()) == WorkRates{});
}

// A token of one block of hidden size 64: 4·64² weights of attention, 3·64·96 of the MLP, 64·100 of the head, and
// 4·8·64 operations of scores. On one device nothing but its layers takes any time.
TEST_CASE("work rates: a small network on one device is at the closed form, in all views") {
  const Toy toy;
  const std::string network = toy.file("net.yaml");
  write(network,
        "schema: stagecraft/architecture/1\narchitecture: net\nfamily: llama\nlayers: 1\nhidden: 64\nheads: 4\n"
        "feed_forward: 96\nvocabulary: 100\nsequence: 8\n");
  write(toy.platform,
        "schema: stagecraft/platform/1\nplatform: one\ndevice_kinds: {A100-SXM4-40GB: {memory: 40 GiB, speed: 1}}\n"
        "devices: [{name: a, kind: A100-SXM4-40GB}]\nlinks: []\n");
  REQUIRE(run({"model", network, "--device", "A100-SXM4-40GB", "--precision", "bf16", "--microbatch-size", "4", "-o",
               toy.model})
              .code == 0);
  const Json told = Json::parse(run({"describe", toy.model, "--json"}).out);
  const double forward = 8.0 * (2.0 * (4 * 64 * 64 + 3 * 64 * 96 + 64 * 100) + 4 * 8 * 64);
  CHECK(told["forward_flops_per_sample"] == forward);
  CHECK(told["tokens_per_sample"] == 8);
  const std::vector<std::string> uniform = {"--planner", "uniform", "--microbatches", "2", "--json", "-o", toy.plan};
  const Json plan = Json::parse(toy.on("plan", uniform).out);
  const Json simulated = Json::parse(toy.on("simulate", {"--json"}).out);
  const Ran comparing = toy.on("compare", {"--planners", "uniform", "--microbatches", "2", "--json"});
  const Json compared = Json::parse(comparing.out)["models"][0]["rows"][0]["simulation"];
  const double seconds = told["totals"]["forward_s"].get<double>() + told["totals"]["backward_s"].get<double>();
  for (const Json& run : {plan, simulated, compared}) {
    CHECK(run["throughput_samples_per_s"].get<double>() == doctest::Approx(4 / seconds));
    CHECK(run["tokens_per_second"].get<double>() == doctest::Approx(8 * 4 / seconds));
    CHECK(run["tflops_per_device"].get<double>() == doctest::Approx(3 * forward * 4 / seconds / 1e12));
    CHECK(run["mfu"].get<double>() == doctest::Approx(3 * forward * 4 / seconds / 312e12));
  }
  CHECK(toy.on("plan", {"--planner", "uniform"}).out.find(" TFLOP/s per device, MFU ") != std::string::npos);
  CHECK(toy.on("simulate").out.find(" TFLOP/s per device, MFU ") != std::string::npos);
  const std::string wide = toy.on("compare", {"--planners", "uniform", "--wide"}).out;
  CHECK(wide.find("tokens/s  TFLOP/s") != std::string::npos);
}

TEST_CASE("work rates: nothing is printed of a model that does not know its work") {
  const Toy toy;
  CHECK(toy.on("simulate").out.find("TFLOP") == std::string::npos);
  CHECK_FALSE(Json::parse(toy.on("simulate", {"--json"}).out).contains("mfu"));
  CHECK(toy.on("compare", {"--planners", "uniform", "--wide"}).out.find("TFLOP") == std::string::npos);
}

}  // namespace stagecraft
