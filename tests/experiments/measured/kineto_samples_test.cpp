// Traces that others published (of HolisticTraceAnalysis and TrioSim), against counts that another program made of
// them: it searches all ranges for each kernel, adds decimal numbers, and follows the links `fwdbwd`.
#include "experiments/measured/kineto_layers.hpp"
#include "experiments/measured/kineto_model.hpp"
#include "experiments/measured/kineto_transfers.hpp"
#include "sim/io/kineto_trace.hpp"
#include "sim/model/run_sums.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace stagecraft::kineto_samples_test {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(STAGECRAFT_SHARED_DIR) / "reference/kineto";

bool is_here() {
  if (std::filesystem::exists(kFolder)) return true;
  MESSAGE("skipped: no traces at ", kFolder.string());
  return false;
}

KinetoTrace sample(const std::string& name) { return read_kineto_trace((kFolder / (name + ".json.gz")).string()); }

KernelSum sum_of(const KinetoProfile& profile, KernelSum KinetoLayer::* part) {
  KernelSum sum;
  for (const KinetoLayer& layer : profile.layers) {
    sum.count += (layer.*part).count;
    sum.time += (layer.*part).time;
  }
  return sum;
}

/// Kernels of layers forward and backward, then those of no layer in the order of `NoLayer`, then all.
struct Counted {
  KernelSum forward;
  KernelSum backward;
  std::array<KernelSum, kNoLayers> left_out;
  KernelSum all;
};

void check(const KinetoProfile& profile, const Counted& counted) {
  CHECK(sum_of(profile, &KinetoLayer::forward) == counted.forward);
  CHECK(sum_of(profile, &KinetoLayer::backward) == counted.backward);
  CHECK(profile.unattributed == counted.left_out);
  CHECK(profile.kernels == counted.all);
}

TEST_CASE("kineto samples: VGG13 by modules") {
  if (!is_here()) return;
  const KinetoProfile profile = profile_kineto(sample("triosim-profiler_vgg13-iter41"), {});
  check(profile,
        {{88, 110095000}, {154, 232696000}, {{{0, 0}, {49, 3552000}, {0, 0}, {1, 1000}, {0, 0}}}, {292, 346344000}});
  REQUIRE(profile.layers.size() == 34);
  CHECK(profile.layers[2].name == "Conv2d_1");
  CHECK(profile.layers[2].forward.time == 23484000);
  CHECK(profile.layers[2].backward.time == 48830000);
  CHECK(profile.layers[4].name == "MaxPool2d_0");
  CHECK(profile.layers[4].backward.time == 19422000);
  CHECK(profile.layers[26].name == "Linear_0");
  CHECK(profile.layers[26].forward.time == 2020000);
  CHECK(profile.layers[26].backward.time == 3977000);
  // VGG13 has 133,047,848 parameters, of four bytes here; images are 3 x 224 x 224, and there are 512.
  Bytes parameters;
  for (const KinetoLayer& layer : profile.layers) parameters += layer.parameters;
  CHECK(parameters == Bytes(std::int64_t{133047848} * 4));
  CHECK(profile.layers[0].input == Bytes(std::int64_t{512} * 3 * 224 * 224 * 4));
  CHECK(profile.layers[0].first == 512);
  CHECK(profile.device_names == std::vector<std::string>{"NVIDIA H100 80GB HBM3"});
}

// All ReLUs work in the memory of their input: on one stage only the other layers keep something.
TEST_CASE("kineto samples: what VGG13 keeps counts once") {
  if (!is_here()) return;
  const KinetoProfile profile = profile_kineto(sample("triosim-profiler_vgg13-iter41"), {});
  Bytes kept;
  Bytes inputs;
  for (const KinetoLayer& layer : profile.layers) {
    CHECK(layer.in_place == layer.name.starts_with("ReLU"));
    inputs += layer.input;
    if (!layer.in_place) kept += layer.input;
  }
  const LayerGraph graph = kineto_model({profile}, {512, "A", false}).profiles.front();
  std::vector<LayerId> all;
  for (const LayerId id : indices(graph.layers)) all.push_back(id);
  CHECK(stash_of(graph, all) == kept);
  CHECK(totals(graph).stash == inputs);
  CHECK(kept < inputs);
}

TEST_CASE("kineto samples: a forward of AlexNet by operators") {
  if (!is_here()) return;
  const KinetoTrace trace = sample("hta-critical_path-alexnet-benchmark_result_2869224_1695835535_trace");
  const KinetoProfile profile = profile_kineto(trace, {});
  check(profile, {{78, 10621000}, {0, 0}, {{{0, 0}, {0, 0}, {0, 0}, {1, 71000}, {0, 0}}}, {79, 10692000}});
  CHECK(profile.layers.size() == 42);
  CHECK(profile_kineto(trace, {"operators", 2}).layers.size() == 21);
}

TEST_CASE("kineto samples: three steps of a ResNet on two ranks, with fractions of microseconds") {
  if (!is_here()) return;
  const KinetoTrace trace = sample("hta-nccl_data");
  CHECK(trace.world_size == 2);
  const KinetoProfile profile = profile_kineto(trace, {});
  check(profile, {{882, 37953094},
                  {1278, 74305521},
                  {{{21, 46876493}, {27, 2078278}, {483, 1293195}, {9, 25759}, {0, 0}}},
                  {2700, 162532340}});
  CHECK(profile.passes == 3);
  CHECK(profile.layers.size() == 228);
  TransferTable table;
  table.add(trace);
  const std::vector<TransferKind> kinds = table.kinds();
  REQUIRE(kinds.size() == 2);
  CHECK(kinds[0].kind == "allreduce");
  CHECK(kinds[0].kernels == 15);
  CHECK(kinds[1].kind == "broadcast");
  CHECK(kinds[1].kernels == 6);
  CHECK(kinds[1].bytes == Bytes(std::int64_t{6} * 53120 * 4 / 2 + std::int64_t{3} * 53 * 8));
  CHECK(kinds[0].alone + kinds[1].alone == 46876493);
}

// The files have a part of the events: five exchanges are there with both ends, whose kernels end together.
TEST_CASE("kineto samples: two ranks of 128, with a part of their events") {
  if (!is_here()) return;
  const KinetoTrace first = sample("hta-trace_filter-sampled_rank-0");
  const KinetoTrace second = sample("hta-trace_filter-sampled_rank-1");
  check(profile_kineto(first, {{}, 1}), {{399, 31983000},
                                         {202, 103052000},
                                         {{{10, 396199000}, {73, 5915000}, {315, 35173000}, {155, 34197000}, {0, 0}}},
                                         {1154, 606519000}});
  check(profile_kineto(second, {{}, 1}), {{393, 34684000},
                                          {169, 143695000},
                                          {{{10, 379053000}, {67, 5713000}, {319, 34268000}, {146, 53613000}, {0, 0}}},
                                          {1104, 651026000}});
  TransferTable table;
  table.add(first);
  table.add(second);
  const std::vector<TransferKind> kinds = table.kinds();
  REQUIRE(kinds.size() == 1);
  CHECK(kinds[0].operations == 15);
  // 129911 - 125052, 298964 - 295662, 585405 - 585321, 1168655 - 1146327 and 1187182 - 1185890 microseconds.
  CHECK(kinds[0].waiting == 4859000 + 3302000 + 84000 + 22328000 + 1292000);
  CHECK(kinds[0].waiting + kinds[0].moving + kinds[0].alone == 396199000 + 379053000);
}

}  // namespace
}  // namespace stagecraft::kineto_samples_test
