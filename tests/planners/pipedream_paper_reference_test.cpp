#include "planners/pipedream/down_sets.hpp"
#include "planners/pipedream/recurrence.hpp"
#include "sim/io/import_pipedream.hpp"
#include "sim/io/text_file.hpp"
#include "sim/model/graph_order.hpp"
#include "tests/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// The paper's form of PipeDream on the profiles that its authors publish: one level of devices, synchronisation that
/// overlaps computation, boundaries that are not divided. The profiles of VGG-16 are of 128 samples, and the paper
/// trains with 64: times and activations are halved.
namespace stagecraft::pipedream_paper_reference_test {

using pipedream::Answer;
using pipedream::DownSets;
using pipedream::Settings;

namespace {

constexpr double kClusterA = 1.25e9;   // bytes per second between nodes: 10 Gbit/s
constexpr double kClusterB = 3.125e9;  // 25 Gbit/s

std::optional<LayerGraph> published_profile(const std::string& model) {
  const std::filesystem::path path =
      std::filesystem::path(STAGECRAFT_SHARED_DIR) / "profiles/pipedream" / (model + ".graph.txt");
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no profile at " << path.string());
    return std::nullopt;
  }
  return import_pipedream(read_text_file(path.string()), path.string(), 1, "V100").profiles.at(0);
}

LayerGraph scaled(LayerGraph graph, double factor) {
  const auto scale = [factor](Bytes& bytes) {
    bytes = Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * factor));
  };
  for (Layer& layer : graph.layers) {
    layer.forward = layer.forward * factor;
    layer.backward = layer.backward * factor;
    scale(layer.output);
    scale(layer.stash);
  }
  return graph;
}

Settings paper_settings(std::uint32_t devices, double bandwidth) {
  Settings settings;
  settings.levels = {{devices, BytesPerSecond(bandwidth)}};
  settings.synchronisation = pipedream::Synchronisation::Overlapped;
  settings.boundary = pipedream::BoundaryCost::Whole;
  return settings;
}

DownSets states_of(const LayerGraph& graph) { return pipedream::enumerate_down_sets(graph, 200'000).value(); }

std::vector<std::uint32_t> configuration(const Answer& answer) {
  std::vector<std::uint32_t> replicas;
  for (const pipedream::Segment& segment : answer.segments) replicas.push_back(segment.replicas);
  return replicas;
}

/// The time of a round divided by the replicas, by the paper's formula: T = max(computation, synchronisation) / m, with
/// a synchronisation of 4 (m - 1) / m times the parameters over the bandwidth.
double replicated(const LayerGraph& graph, std::size_t begin, std::size_t end, double m, double bandwidth) {
  const std::vector<LayerId> order = canonical_order(graph);
  double compute = 0.0;
  double parameters = 0.0;
  for (std::size_t i = begin; i < end; ++i) {
    const Layer& layer = graph.layers[order[i]];
    compute += (layer.forward + layer.backward).value();
    parameters += static_cast<double>(layer.parameters.value());
  }
  return std::max(compute, 4.0 * (m - 1.0) / m * parameters / bandwidth) / m;
}

}  // namespace

TEST_CASE("pipedream paper reference: VGG-16 at 64 is 15-1, cut before the fully connected block") {
  const std::optional<LayerGraph> profile = published_profile("vgg16");
  if (!profile) return;
  const LayerGraph graph = scaled(*profile, 0.5);
  const DownSets states = states_of(graph);
  const Settings settings = paper_settings(16, kClusterA);
  const Answer answer = optimize(states, settings);
  REQUIRE(configuration(answer) == std::vector<std::uint32_t>{15, 1});
  // The profile is a chain: 31 layers of convolutions and pools (node2 to node32), then the two layers without cost
  // that flatten (node33, node34), then the fully connected block. A cut at either of them costs the same.
  const auto first = pipedream::layers_between(states, pipedream::kNothing, answer.segments[0].to);
  CHECK(first.size() >= 31);
  CHECK(first.size() <= 33);
  const Layer& connected = graph.layers[canonical_order(graph)[33]];
  CHECK(connected.name == "node35");
  CHECK(connected.parameters == Bytes(std::int64_t{25088 + 1} * 4096 * 4));
  const double by_hand = std::max(replicated(graph, 0, 31, 15, kClusterA), replicated(graph, 31, 40, 1, kClusterA));
  CHECK(answer.period == doctest::Approx(by_hand).epsilon(1e-12));
  CHECK(answer.period * 1e3 == doctest::Approx(22.08).epsilon(5e-4));
  const double parallel = pipedream::data_parallel_time(states, settings);
  CHECK(parallel == doctest::Approx(replicated(graph, 0, 40, 16, kClusterA)).epsilon(1e-12));
  CHECK(parallel * 1e3 == doctest::Approx(103.77).epsilon(5e-5));
  CHECK(parallel / answer.period == doctest::Approx(4.70).epsilon(5e-4));
}

TEST_CASE("pipedream paper reference: VGG-16 is 15-1 at 25 Gbit/s, 3-1 on 4 devices and 7-1 on 8") {
  const std::optional<LayerGraph> profile = published_profile("vgg16");
  if (!profile) return;
  const DownSets states = states_of(scaled(*profile, 0.5));
  const Settings faster = paper_settings(16, kClusterB);
  const Answer answer = optimize(states, faster);
  CHECK(configuration(answer) == std::vector<std::uint32_t>{15, 1});
  CHECK(pipedream::data_parallel_time(states, faster) / answer.period == doctest::Approx(1.96).epsilon(5e-4));
  CHECK(configuration(optimize(states, paper_settings(4, kClusterA))) == std::vector<std::uint32_t>{3, 1});
  CHECK(configuration(optimize(states, paper_settings(8, kClusterA))) == std::vector<std::uint32_t>{7, 1});
}

TEST_CASE("pipedream paper reference: ResNet-50 at 128 is data parallelism") {
  const std::optional<LayerGraph> graph = published_profile("resnet50");
  if (!graph) return;
  const DownSets states = states_of(*graph);
  const Settings settings = paper_settings(16, kClusterA);
  const Answer answer = optimize(states, settings);
  CHECK(configuration(answer) == std::vector<std::uint32_t>{16});
  CHECK(answer.period == pipedream::data_parallel_time(states, settings));
  CHECK(answer.period == doctest::Approx(replicated(*graph, 0, graph->layers.size(), 16, kClusterA)).epsilon(1e-12));
  CHECK(answer.period * 1e3 == doctest::Approx(27.7).epsilon(1e-3));
}

}  // namespace stagecraft::pipedream_paper_reference_test
