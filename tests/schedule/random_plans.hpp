#pragma once

#include "sim/model/graph_order.hpp"
#include "sim/schedule/lower.hpp"
#include "tests/schedule/chains.hpp"
#include "tests/schedule/compiled.hpp"

#include <algorithm>
#include <random>
#include <utility>

namespace stagecraft::testing {

/// A model, a platform and a plan that fits both.
struct RandomCase {
  LayerGraph graph;
  Platform platform;
  Plan plan;
};

struct RandomCaseOptions {
  Sharing sharing = Sharing::Fair;
  bool allow_replicas = true;
  bool allow_swap = true;
  double traffic = 1.0;      ///< scales the sizes of tensors
  bool allow_shares = true;  ///< replicas of a stage may have unequal ones
};

/// Shares from 1 to 5.
inline std::vector<std::int64_t> random_shares(std::size_t owners, std::mt19937& random) {
  std::vector<std::int64_t> shares;
  for (std::size_t i = 0; i < owners; ++i) shares.push_back(1 + static_cast<std::int64_t>(random() % 5));
  return shares;
}

class RandomPlans {
 public:
  RandomPlans(std::uint32_t seed, RandomCaseOptions options) : generator_(seed), options_(options) {}

  RandomCase make() {
    RandomCase result;
    result.graph = graph();
    result.platform = platform();
    result.plan = plan(result.graph, result.platform);
    return result;
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator_);
  }
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator_); }
  bool chance(double p) { return real(0.0, 1.0) < p; }

  LayerGraph graph() {
    LayerGraph graph = chain(static_cast<std::size_t>(number(4, 12)), 1.0, 2.0);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(real(0.5, 2.0));
      layer.backward = Seconds(real(0.5, 4.0));
      layer.backward_weight = layer.backward * real(0.2, 0.8);
      layer.parameters = Bytes(number(0, 1000));
      layer.output = scale_up(Bytes(number(0, 400'000'000)), options_.traffic);
      layer.stash = Bytes(number(1000, 100'000));
      layer.checkpoint = Bytes(number(0, 1000));
      layer.workspace = Bytes(number(0, 5000));
    }
    for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
    for (std::int64_t skips = number(0, 3); skips > 0; --skips) {
      const std::int64_t from = number(0, static_cast<std::int64_t>(graph.layers.size()) - 3);
      const std::int64_t to = number(from + 2, static_cast<std::int64_t>(graph.layers.size()) - 1);
      const LayerEdge edge{LayerId(from), LayerId(to), graph.layers[LayerId(from)].output};
      if (std::ranges::find(graph.edges, edge) == graph.edges.end()) graph.edges.push_back(edge);
    }
    return graph;
  }

  /// Each pair of devices has a link of its own, and each device one to its own host: flows of different pairs never
  /// meet.
  Platform platform() {
    PlatformSpec spec = pairwise(static_cast<std::size_t>(number(2, 6)), real(1e8, 1e9), real(0.0, 0.01), Duplex::Full,
                                 options_.sharing)
                            .spec;
    auto& form = std::get<ExplicitForm>(spec.form);
    for (ExplicitDevice& device : form.devices) {
      device.host = HostSpec{Bytes(std::int64_t{1} << 50),
                             LinkSpec{BytesPerSecond(real(1e5, 1e6) / options_.traffic), Seconds(1e-5)}, 1};
    }
    DeviceKind& kind = spec.device_kinds[DeviceKindId(0)];
    if (chance(0.5)) kind.update_bandwidth = BytesPerSecond(1e4);
    if (chance(0.3)) kind.pass_overhead = Seconds(real(0.0, 1.0));
    if (chance(0.3)) kind.update_overhead = Seconds(real(0.0, 3.0));
    return build_platform(std::move(spec));
  }

  Plan plan(const LayerGraph& graph, const Platform& platform) {
    Plan plan;
    plan.microbatch_size = kSamples;
    plan.schedule.name = std::array{"1f1b", "gpipe", "pipedream", "eager-1f1b"}[static_cast<std::size_t>(number(0, 3))];
    auto devices_left = static_cast<std::int64_t>(platform.devices.size());
    const std::int64_t layers = static_cast<std::int64_t>(graph.layers.size());
    std::int64_t stages = number(1, std::min(devices_left, layers));
    std::int64_t layer = 0;
    std::int64_t device = 0;
    for (std::int64_t s = 0; s < stages; ++s) {
      const std::int64_t left = stages - s - 1;
      const std::int64_t layer_count = left == 0 ? layers - layer : number(1, layers - layer - left);
      const std::int64_t replicas = options_.allow_replicas && chance(0.4) ? number(1, devices_left - left) : 1;
      Stage stage;
      for (std::int64_t i = 0; i < layer_count; ++i) stage.layers.emplace_back(layer++);
      for (std::int64_t i = 0; i < replicas; ++i) stage.replicas.emplace_back(DeviceId(device++));
      devices_left -= replicas;
      if (chance(0.3)) stage.replication = Replication::Split;
      if (options_.allow_shares && chance(0.4)) stage.shares = random_shares(stage.replicas.size(), generator_);
      if (least_samples(stage) > kSamples) stage.shares.clear();
      add_actions(stage);
      if (plan.schedule.name != "gpipe" && chance(0.3)) stage.in_flight = number(1, 4);
      plan.stages.push_back(std::move(stage));
    }
    plan.microbatches = std::max(number(1, 24), least_length(plan));
    if (chance(0.4)) plan.training.gradient_bucket = Bytes(number(0, 2000));
    return plan;
  }

  void add_actions(Stage& stage) {
    std::vector<LayerId> segment;
    for (LayerId layer : stage.layers) {
      const double draw = real(0.0, 1.0);
      if (draw < 0.3) {
        segment.push_back(layer);
        continue;
      }
      if (!segment.empty()) stage.memory.emplace_back(Recompute{std::exchange(segment, {})});
      if (options_.allow_swap && draw > 0.8) stage.memory.emplace_back(Swap{{layer}});
    }
    if (!segment.empty()) stage.memory.emplace_back(Recompute{segment});
  }

  std::mt19937 generator_;
  RandomCaseOptions options_;
};

/// Whether the replicas of all stages take turns of one size, as passes that gather weights together must.
inline bool run_together(const Plan& plan) {
  const auto turns = [](const Stage& stage) { return alternating_replicas(stage); };
  const auto is_alike = [&](const Stage& stage) {
    return stage.shares.empty() && (turns(stage) == 1 || turns(stage) == turns(plan.stages.front()));
  };
  return std::ranges::all_of(plan.stages, is_alike);
}

inline RandomCase random_case(std::uint32_t seed, RandomCaseOptions options = {}) {
  return RandomPlans(seed, options).make();
}

}  // namespace stagecraft::testing
