// A cut of a network is the same stages whether its layers are operators, modules, residual blocks or blocks.
#include "planners/shared/costs/cost_model.hpp"
#include "sim/model/graph_order.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/run_sums.hpp"
#include "sim/replay/replay_plan.hpp"
#include "sim/schedule/schedule_family.hpp"
#include "sim/schedule/stage_program.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "tests/random_cases.hpp"
#include "tests/schedule/chains.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {
namespace {

constexpr double kTolerance = 1e-9;  // relative
constexpr std::size_t kStages = 4;
constexpr std::int64_t kSamples = 4;

/// A network at one granularity.
struct Grain {
  LayerGraph graph;
  IndexVector<OperatorId, LayerId> layer_of;
};

Grain grain_of(const Architecture& net, const DeviceDescription& device, Granularity granularity) {
  Grain grain{build_model(net, device, kSamples, granularity).profiles.front(), {}};
  grain.graph.device_kind = "K";
  grain.layer_of.resize(net.operators.size());
  const auto members = operators_of_layers(net, granularity);
  for (const LayerId id : indices(members)) {
    for (const OperatorId member : members[id]) grain.layer_of[member] = id;
  }
  return grain;
}

/// The stage of each operator: the blocks in canonical order, cut at random.
IndexVector<OperatorId, std::size_t> random_cut(const Grain& blocks, std::mt19937& random) {
  const std::vector<LayerId> order = canonical_order(blocks.graph);
  std::set<std::size_t> cuts;
  while (cuts.size() + 1 < kStages) cuts.insert(1 + random() % (order.size() - 1));
  IndexVector<LayerId, std::size_t> stage_of_block(order.size());
  for (std::size_t at = 0; at < order.size(); ++at) {
    stage_of_block[order[at]] = static_cast<std::size_t>(std::distance(cuts.begin(), cuts.upper_bound(at)));
  }
  IndexVector<OperatorId, std::size_t> stage_of;
  for (const LayerId block : blocks.layer_of) stage_of.push_back(stage_of_block[block]);
  return stage_of;
}

Plan plan_of(const Grain& grain, const IndexVector<OperatorId, std::size_t>& stage_of) {
  IndexVector<LayerId, std::size_t> stage_of_layer(grain.graph.layers.size());
  for (const OperatorId id : indices(stage_of)) stage_of_layer[grain.layer_of[id]] = stage_of[id];
  Plan plan = testing::straight(kStages, 8, "1f1b");
  plan.microbatch_size = kSamples;
  for (Stage& stage : plan.stages) stage.layers.clear();
  for (const LayerId id : canonical_order(grain.graph)) plan.stages[stage_of_layer[id]].layers.push_back(id);
  return plan;
}

/// The stash of each stage, counted as pairs of a tensor and a stage in which some operator's backward needs it.
std::vector<Bytes> counted_stashes(const Architecture& net, const IndexVector<OperatorId, std::size_t>& stage_of) {
  std::set<std::pair<OperatorId, std::size_t>> held;
  std::vector<Bytes> bytes(kStages);
  for (const OperatorId id : indices(net.operators)) {
    const Operator& op = net.operators[id];
    if (op.saves_output) held.emplace(id, stage_of[id]);
    for (const OperatorId input : op.inputs) {
      if (op.saves_input) held.emplace(input, stage_of[id]);
    }
    bytes[stage_of[id]] += Bytes((op.saved_bytes + 4 * op.saved_values) * kSamples);
  }
  for (const auto& [tensor, stage] : held) {
    bytes[stage] += Bytes(kSamples * (tensor.is_none() ? net.input_bytes : 4 * net.operators[tensor].output_values));
  }
  return bytes;
}

bool is_close(double a, double b) { return std::abs(a - b) <= kTolerance * std::max(a, b); }

/// Cuts between layers of the coarsest granularity, the first, are the same stages at the others. Returns in how many
/// of the stages layers keep the same tensor.
int check_random_cuts(const char* name, std::span<const Granularity> granularities, std::mt19937& random) {
  CAPTURE(name);
  const Platform platform = testing::pairwise(kStages, 12e9);
  const Architecture net = *find_architecture(name);
  std::vector<Grain> grains;
  for (const Granularity granularity : granularities) {
    grains.push_back(grain_of(net, *find_device("V100-SXM2-16GB"), granularity));
  }
  int shared = 0;
  for (int i = 0; i < testing::random_cases(20); ++i) {
    CAPTURE(i);
    const IndexVector<OperatorId, std::size_t> stage_of = random_cut(grains.front(), random);
    const std::vector<Bytes> expected = counted_stashes(net, stage_of);
    const Plan coarse = plan_of(grains.front(), stage_of);
    const Report first = replay_plan(grains.front().graph, platform, coarse).report;
    for (const Grain& grain : grains) {
      CAPTURE(grain.graph.layers.size());
      const Plan plan = plan_of(grain, stage_of);
      for (std::size_t s = 0; s < kStages; ++s) {
        CAPTURE(s);
        const StageProgram program = stage_program(grain.graph, plan.stages[s]);
        const StageProgram block = stage_program(grains.front().graph, coarse.stages[s]);
        CHECK(program.stash() == expected[s]);
        CHECK(stash_of(grain.graph, plan.stages[s].layers) == expected[s]);
        Bytes sum;
        for (const LayerId id : plan.stages[s].layers) sum += grain.graph.layers[id].stash;
        shared += sum > expected[s] ? 1 : 0;
        CHECK(program.workspace == block.workspace);
        CHECK(is_close(program.forward.value(), block.forward.value()));
        CHECK(is_close(program.backward_total().value(), block.backward_total().value()));
      }
      const Report report = replay_plan(grain.graph, platform, plan).report;
      CHECK(is_close(report.iterations.back().value(), first.iterations.back().value()));
      for (std::size_t d = 0; d < kStages; ++d) {
        CHECK(report.devices[d].memory.peak == first.devices[d].memory.peak);
      }
    }
  }
  return shared;
}

}  // namespace

TEST_CASE("granularity: random cuts of seven networks have the same stash, times and replay at all three") {
  constexpr std::array kNested = {Granularity::Block, Granularity::Layer, Granularity::Operator};
  std::mt19937 random(1);
  int shared = 0;
  for (const char* name :
       {"vgg16", "resnet50", "inception-v3", "bert-base", "gnmt-8", "amoebanet-d-18-256", "transformer-6-6"}) {
    shared += check_random_cuts(name, kNested, random);
  }
  CHECK(shared > testing::random_cases(140));
}

TEST_CASE("granularity: random cuts between residual blocks have the same stash, times and replay by operator") {
  constexpr std::array kResidual = {Granularity::Residual, Granularity::Operator};
  std::mt19937 random(2);
  int shared = 0;
  for (const char* name : {"bert-24", "transformer-6-6", "cpm-medium", "resnet50", "t5-small"}) {
    shared += check_random_cuts(name, kResidual, random);
  }
  CHECK(shared > testing::random_cases(100));
}

TEST_CASE("granularity: the whole VGG-16 at 64 samples keeps 4.37 GiB, by operator, layer and block") {
  const DeviceDescription device = *find_device("V100-SXM2-16GB");
  const Architecture net = *find_architecture("vgg16");
  for (const Granularity granularity : {Granularity::Operator, Granularity::Layer, Granularity::Block}) {
    const LayerGraph graph = build_model(net, device, 64, granularity).profiles.front();
    const auto bytes = static_cast<double>(stash_of(graph, canonical_order(graph)).value());
    CHECK(std::abs(bytes / 0x1p30 - 4.37) < 0.005);
  }
}

TEST_CASE("granularity: PipeDream's plan 15-1 of VGG-16 fits into 16 GiB by layer as by block") {
  const DeviceDescription device = *find_device("V100-SXM2-16GB");
  const Architecture net = *find_architecture("vgg16");
  const Platform platform = testing::pairwise(16, 12e9);
  std::vector<std::vector<std::pair<DeviceId, Bytes>>> peaks;
  for (const Granularity granularity : {Granularity::Layer, Granularity::Block}) {
    LayerGraph graph = build_model(net, device, 64, granularity).profiles.front();
    graph.device_kind = "K";
    Plan plan = testing::straight(2, 64, "pipedream");
    plan.microbatch_size = 64;
    for (Stage& stage : plan.stages) stage.layers.clear();
    for (const LayerId id : canonical_order(graph)) {
      const std::string& name = graph.layers[id].name;
      const bool is_last = name.starts_with("fc") || name == "relu6" || name == "relu7";
      plan.stages[is_last ? 1 : 0].layers.push_back(id);
    }
    plan.stages[0].replicas.clear();
    for (std::uint32_t i = 0; i < 15; ++i) plan.stages[0].replicas.emplace_back(DeviceId(i));
    plan.stages[1].replicas = {DeviceId(15)};
    peaks.push_back(ledger_peaks(graph, platform, require_schedule(graph, platform, plan)));
    for (const auto& [gpu, peak] : peaks.back()) CHECK(peak <= Bytes(std::int64_t{16} << 30));
  }
  CHECK(peaks[0] == peaks[1]);
}

}  // namespace stagecraft
