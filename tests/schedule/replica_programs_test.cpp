#include "sim/schedule/replica_programs.hpp"

#include "sim/model/measured_profiles.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/replicas.hpp"
#include "sim/workload/build_model.hpp"
#include "sim/workload/catalogue.hpp"
#include "sim/workload/computed_profiles.hpp"
#include "tests/random_cases.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
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

/// What the layers keep for a microbatch: a tensor counts once, whoever keeps it.
Bytes stash_of_layers(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes sum;
  std::set<std::uint32_t> tensors;
  for (LayerId id : layers) {
    sum += graph.layers[id].stash;
    for (const std::uint32_t tensor : graph.layers[id].keeps) {
      if (!tensors.insert(tensor).second) sum -= graph.tensors[tensor].bytes;
    }
  }
  return sum;
}

Bytes largest_workspace(const LayerGraph& graph, const std::vector<LayerId>& layers) {
  Bytes largest;
  for (LayerId id : layers) largest = std::max(largest, graph.layers[id].workspace);
  return largest;
}

/// A layer of these seconds and bytes.
LayerGraph one_layer(const std::string& kind, std::int64_t samples, double seconds, std::int64_t bytes) {
  LayerGraph graph;
  graph.device_kind = kind;
  graph.microbatch_size = samples;
  Layer layer;
  layer.name = "a";
  layer.forward = Seconds(seconds);
  layer.backward = Seconds(2 * seconds);
  layer.stash = Bytes(bytes);
  layer.workspace = Bytes(bytes / 10);
  graph.layers.push_back(layer);
  return graph;
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
    const LayerGraph found = at_microbatch_size(model, samples, device.name);
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
    return total(at_microbatch_size(model, part)) / (total(model.profiles.front()) * proportion);
  };
  CHECK(ratio("vgg19", 32, 2) == doctest::Approx(1.49).epsilon(0.01));
  CHECK(ratio("resnet152", 32, 2) == doctest::Approx(1.60).epsilon(0.01));
  CHECK(ratio("bert-base", 32, 2) == doctest::Approx(1.05).epsilon(0.01));
}

TEST_CASE("computed profiles: a name that a catalogue lacks gives no model") {
  CHECK_FALSE(computed_model({"vgg99", {}, "layer"}, "V100-SXM2-16GB", 1).has_value());
  CHECK_FALSE(computed_model({"vgg16", {}, "layer"}, "K", 1).has_value());
  CHECK_FALSE(computed_model({"vgg16", {}, "atom"}, "V100-SXM2-16GB", 1).has_value());
}

TEST_CASE("replica programs: a divided stage has the cost model's own times and bytes at each share") {
  const std::vector<std::string> networks{"alexnet", "vgg16", "resnet50", "bert-base", "gnmt-8"};
  const std::vector<std::string> kinds{"V100-SXM2-16GB", "A100-SXM4-40GB", "RTX-2080-Ti"};
  const Platform platform = platform_of(kinds);
  std::mt19937 random(14);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (int i = 0; i < testing::random_cases(200); ++i) {
    const std::string& network = networks[below(networks.size())];
    const auto samples = static_cast<std::int64_t>(2 + below(31));
    const LayerGraph graph = at_microbatch_size(model_of(network, 32, "block"), samples);
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
      CHECK(program.stash() == stash_of_layers(at_share, stage.layers));
      CHECK(program.workspace == largest_workspace(at_share, stage.layers));
      CHECK(program.backward_workspace() == program.workspace);
      shared += own;
    }
    CHECK(shared == samples);
  }
}

// Of 8 samples one replica has 2, the others 3; the file has 2 samples. On kind B only 8 samples are known.
TEST_CASE("replica programs: bytes are those of the file's own sizes and kinds, whatever speed the user gives") {
  LayerGraph graph = one_layer("A", 8, 8.0, 2000);
  graph.own_times = std::make_shared<MeasuredProfiles>(
      std::vector<LayerGraph>{one_layer("A", 2, 5.0, 1000), graph, one_layer("B", 8, 4.0, 1600)});
  PlatformSpec spec = platform_of({"A", "B"}).spec;
  Stage stage;
  stage.layers = {LayerId(0)};
  const Share two{0, 2, 8};
  const Share three{2, 5, 8};
  const Platform platform = build_platform(spec);
  ReplicaPrograms programs(graph, platform, stage);
  CHECK(programs.of(DeviceId(0), two).stash() == Bytes(1000));
  CHECK(programs.of(DeviceId(0), two).workspace == Bytes(100));
  CHECK(programs.of(DeviceId(0), two).forward == Seconds(5));
  CHECK(programs.of(DeviceId(0), three).stash() == Bytes(1167));  // 1000 + 1000 / 6, rounded up
  CHECK(programs.of(DeviceId(1), two).stash() == Bytes(400));
  CHECK(programs.of(DeviceId(1), two).forward == Seconds(1));

  spec.speeds = {{"B", 4.0}};  // then its times are those of A by that speed
  const Platform fast = build_platform(spec);
  ReplicaPrograms given(graph, fast, stage);
  CHECK(given.of(DeviceId(1), two).stash() == Bytes(400));
  CHECK(given.of(DeviceId(1), Share{}).stash() == Bytes(1600));
  CHECK(given.of(DeviceId(1), two).forward == Seconds(1.25));
  CHECK(given.of(DeviceId(1), Share{}).forward == Seconds(2));

  graph.own_times = nullptr;  // in proportion, rounded up
  ReplicaPrograms part(graph, platform, stage);
  CHECK(part.of(DeviceId(0), three).stash() == Bytes(750));
  CHECK(part.of(DeviceId(0), three).forward == Seconds(3));
}

// Parts of 4 samples on 3 replicas end at ⌊4 / 3⌋ = 1 and ⌊8 / 3⌋ = 2: 1, 1 and 2 samples. By the file 1 sample takes
// 1.5 s and 400 B, 2 take 2 s and 600 B, 4 take 3 s and 1000 B. The proportion, 4/3 of a sample, would be 1 s.
TEST_CASE("replica programs: 4 samples on 3 replicas are 1, 1 and 2, and the fullest one decides") {
  LayerGraph graph = one_layer("A", 4, 3.0, 1000);
  graph.own_times = std::make_shared<MeasuredProfiles>(
      std::vector<LayerGraph>{one_layer("A", 1, 1.5, 400), one_layer("A", 2, 2.0, 600), graph});
  const Platform platform = platform_of({"A", "A", "A"});
  Plan plan;
  plan.microbatch_size = 4;
  Stage& stage = plan.stages.emplace_back();
  stage.layers = {LayerId(0)};
  stage.replication = Replication::Split;
  for (const int device : {0, 1, 2}) stage.replicas.emplace_back(DeviceId(device));
  ReplicaPrograms programs(graph, platform, stage);
  const Replicas replicas(plan);
  std::vector<std::int64_t> samples;
  std::vector<Seconds> forwards;
  std::vector<Bytes> stashes;
  for (const ReplicaId id : replicas.all()) {
    const Replica& replica = replicas[id];
    samples.push_back(samples_of(replica.share, 4));
    forwards.push_back(programs.of(replica.device, replica.share).forward);
    stashes.push_back(programs.of(replica.device, replica.share).stash());
  }
  CHECK(samples == std::vector<std::int64_t>{1, 1, 2});
  CHECK(forwards == std::vector<Seconds>{Seconds(1.5), Seconds(1.5), Seconds(2)});
  CHECK(stashes == std::vector<Bytes>{Bytes(400), Bytes(400), Bytes(600)});
  CHECK(samples_of(largest_share(stage, 4), 4) == 2);
  CHECK(programs.of(DeviceId(0), largest_share(stage, 4)).forward == Seconds(2));
}

TEST_CASE("replica programs: the convention of inputs holds for every size and kind") {
  LayerGraph graph = one_layer("A", 8, 8.0, 2000);
  graph.input = Bytes(80);
  LayerGraph half = one_layer("A", 4, 5.0, 1900);
  half.input = Bytes(40);
  LayerGraph other = one_layer("B", 8, 4.0, 1600);
  other.input = Bytes(160);
  graph.own_times = std::make_shared<MeasuredProfiles>(std::vector<LayerGraph>{half, graph, other});
  graph = with_stash(std::move(graph), StashConvention::Input);
  const Platform platform = platform_of({"A", "B"});
  Stage stage;
  stage.layers = {LayerId(0)};
  ReplicaPrograms programs(graph, platform, stage);
  CHECK(programs.of(DeviceId(0), Share{}).stash() == Bytes(80));
  CHECK(programs.of(DeviceId(0), Share{1, 2, 2}).stash() == Bytes(40));
  CHECK(programs.of(DeviceId(1), Share{}).stash() == Bytes(160));
  CHECK(programs.of(DeviceId(1), Share{}).workspace == Bytes(0));
  CHECK(programs.of(DeviceId(0), Share{1, 2, 2}).forward == Seconds(5));
}

}  // namespace stagecraft::computed_profiles_test
