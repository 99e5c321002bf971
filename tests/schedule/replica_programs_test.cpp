#include "sim/schedule/replica_programs.hpp"

#include "sim/model/plan.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::computed_profiles_test {
namespace {

Model model_of(const std::string& network, std::int64_t samples, const std::string& granularity = "layer") {
  return computed_model({network, {}, granularity}, "V100-SXM2-16GB", samples).value();
}

Seconds total(const LayerGraph& graph) { return totals(graph).forward + totals(graph).backward; }

Seconds sum_of(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Seconds sum;
  for (LayerId id : layers) sum += graph.layers[id].forward + graph.layers[id].backward;
  return sum;
}

/// A platform of one device of each kind.
Platform platform_of(const std::vector<std::string>& kinds) {
  PlatformSpec spec;
  NodeForm form;
  for (const std::string& kind : kinds) {
    const DeviceKindId id = spec.device_kinds.push_back({.name = kind, .memory = Bytes(1 << 30), .speed = 1.0});
    const NodeKindId node = form.node_kinds.push_back({.name = kind, .device_kind = id});
    form.groups.push_back({node, 1});
  }
  spec.form = std::move(form);
  return build_platform(std::move(spec));
}

}  // namespace

TEST_CASE("computed profiles: every size and kind has the cost model's own times") {
  const Model model = model_of("vgg19", 32);
  const auto device = find_device("A100-SXM4-40GB").value();
  for (const std::int64_t samples : {1, 3, 32, 100}) {
    const LayerGraph own = build_model(*find_architecture("vgg19"), device, samples).profiles.front();
    const LayerGraph found = at_microbatch_size(model, samples, device.name).graph;
    CHECK(found.layers == own.layers);
    CHECK(found.edges == own.edges);
    for (LayerId id : indices(own.layers)) {
      const LayerTimes times = model.computed->times(id, device.name, samples);
      CHECK(times.forward == own.layers[id].forward);
      CHECK(times.backward == own.layers[id].backward);
      CHECK(times.backward_weight == own.layers[id].backward_weight);
    }
  }
}

// The ratios that an independent trial read from the cost model (specification of fair comparisons, section 5).
TEST_CASE("computed profiles: a part of a microbatch takes more than its proportion") {
  const auto ratio = [](const std::string& network, std::int64_t whole, std::int64_t part) {
    const Model model = model_of(network, whole);
    const double proportion = static_cast<double>(part) / static_cast<double>(whole);
    return total(at_microbatch_size(model, part).graph) / (total(model.profiles.front()) * proportion);
  };
  CHECK(ratio("vgg19", 32, 2) == doctest::Approx(1.49).epsilon(0.01));
  CHECK(ratio("resnet152", 32, 2) == doctest::Approx(1.60).epsilon(0.01));
  CHECK(ratio("bert-large", 4, 2) == doctest::Approx(1.05).epsilon(0.01));
}

TEST_CASE("computed profiles: a name that a catalogue lacks gives no model") {
  CHECK_FALSE(computed_model({"vgg99", {}, "layer"}, "V100-SXM2-16GB", 1).has_value());
  CHECK_FALSE(computed_model({"vgg16", {}, "layer"}, "K", 1).has_value());
  CHECK_FALSE(computed_model({"vgg16", {}, "atom"}, "V100-SXM2-16GB", 1).has_value());
}

TEST_CASE("replica programs: a stage that is divided never beats the cost model's own time at its share") {
  const std::vector<std::string> networks{"alexnet", "vgg16", "resnet50", "bert-base", "gnmt-8"};
  const std::vector<std::string> kinds{"V100-SXM2-16GB", "A100-SXM4-40GB", "RTX-2080-Ti"};
  const Platform platform = platform_of(kinds);
  std::mt19937 random(14);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (int i = 0; i < testing::random_cases(200); ++i) {
    const std::string& network = networks[below(networks.size())];
    const auto samples = static_cast<std::int64_t>(2 + below(31));
    const LayerGraph graph = at_microbatch_size(model_of(network, 32, "block"), samples).graph;
    Plan plan;
    plan.microbatch_size = samples;
    plan.stages.resize(1);
    Stage& stage = plan.stages.front();
    stage.replication = Replication::Split;
    const std::size_t replicas = 2 + below(static_cast<std::size_t>(samples) - 1);
    for (std::size_t r = 0; r < replicas; ++r) stage.replicas.emplace_back(DeviceId(below(kinds.size())));
    const std::size_t first = below(graph.layers.size());
    const std::size_t end = first + 1 + below(graph.layers.size() - first);
    for (std::size_t at = first; at < end; ++at) stage.layers.emplace_back(at);
    ReplicaPrograms programs(graph, platform, stage);
    const Replicas all(plan);
    std::int64_t shared = 0;
    for (ReplicaId id : all.all()) {
      const std::int64_t own = samples_of(all[id].share, samples);
      const std::string& kind = platform.kind(all[id].device).name;
      const LayerGraph at_share =
          build_model(*find_architecture(network), *find_device(kind), own, Granularity::Block).profiles.front();
      const StageProgram program = programs.of(all[id].device, all[id].share);
      CHECK((program.forward + program.backward_total()).value() ==
            doctest::Approx(sum_of(at_share, stage.layers).value()).epsilon(1e-12));
      shared += own;
    }
    CHECK(shared == samples);
  }
}

}  // namespace stagecraft::computed_profiles_test
