#pragma once

#include "tests/schedule/random_plans.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace stagecraft::testing {

struct SharedPlanOptions {
  bool alternate = true;      ///< stages may have several replicas, and the plan several pipelines
  bool whole_times = false;   ///< small whole numbers of seconds, and transfers without bytes
  std::int64_t longest = 20;  ///< microbatches
};

/// Random synchronous plans whose devices hold several stages: some with caps, replicas, pipelines, all-reduces in
/// buckets, updates, and tensors that skip stages.
class SharedPlans {
 public:
  SharedPlans(std::uint32_t seed, SharedPlanOptions options) : random_(seed), options_(options) {}

  RandomCase make(const std::string& schedule) {
    RandomCase made;
    const auto devices = static_cast<std::size_t>(number(2, 4));
    const auto layers = static_cast<std::size_t>(number(4, 9));
    made.graph = graph(layers);
    PlatformSpec spec = pairwise(devices, 1e6, options_.whole_times ? 0.0 : 0.01).spec;
    DeviceKind& kind = spec.device_kinds[DeviceKindId(0)];
    if (chance(2)) kind.update_bandwidth = BytesPerSecond(5000);
    if (chance(3)) kind.pass_overhead = Seconds(time());
    if (chance(3)) kind.update_overhead = Seconds(time());
    made.platform = build_platform(std::move(spec));
    made.plan.microbatch_size = kSamples;
    made.plan.schedule.name = schedule;
    made.plan.microbatches = number(1, options_.longest);
    const std::int64_t pipelines = options_.alternate && chance(3) ? 2 : 1;
    for (std::int64_t i = 0; i < pipelines; ++i) append_pipeline(static_cast<std::uint32_t>(i), layers, devices, made);
    if (pipelines > 1 && chance(2)) made.plan.pipeline_shares = random_shares(2, random_);
    // Within a pipeline the stages stay in the order of their layers.
    std::ranges::stable_sort(made.plan.stages, {}, [](const Stage& stage) { return stage.layers.front(); });
    if (chance(2)) made.plan.training.gradient_bucket = Bytes(number(1, 2000));
    return made;
  }

 private:
  std::int64_t number(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::int64_t one_in) { return number(1, one_in) == 1; }
  double time() {
    return options_.whole_times ? static_cast<double>(number(1, 5)) : static_cast<double>(number(1, 1000)) / 100.0;
  }

  LayerGraph graph(std::size_t layers) {
    LayerGraph graph = chain(layers, 1, 2);
    for (Layer& layer : graph.layers) {
      layer.forward = Seconds(time());
      layer.backward = Seconds(time());
      layer.backward_weight = layer.backward * 0.5;
      layer.parameters = Bytes(number(0, 3000));
      layer.stash = Bytes(number(1000, 100'000));
      layer.workspace = Bytes(number(0, 5000));
      if (!options_.whole_times) layer.output = Bytes(number(0, 2'000'000));
    }
    if (chance(3)) graph.edges.push_back({LayerId(0), LayerId(layers - 1), Bytes(0)});
    for (LayerEdge& edge : graph.edges) edge.bytes = graph.layers[edge.from].output;
    return graph;
  }

  void append_pipeline(std::uint32_t pipeline, std::size_t layers, std::size_t devices, RandomCase& made) {
    const std::size_t first = made.plan.stages.size();
    for (std::size_t layer = 0; layer < layers;) {
      Stage stage;
      stage.pipeline = pipeline;
      const std::size_t end = std::min(layer + static_cast<std::size_t>(number(1, 2)), layers);
      while (layer < end) stage.layers.emplace_back(layer++);
      std::vector<std::size_t> places(devices);
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::ranges::shuffle(places, random_);
      places.resize(options_.alternate && chance(3) ? 2 : 1);
      for (std::size_t place : places) stage.replicas.emplace_back(DeviceId(place));
      if (places.size() > 1 && chance(3)) stage.replication = Replication::Split;
      if (places.size() > 1 && chance(2)) stage.shares = random_shares(places.size(), random_);
      if (made.plan.schedule.name != "gpipe" && chance(4)) stage.in_flight = number(1, 4);
      made.plan.stages.push_back(std::move(stage));
    }
    // Two stages of one pipeline share a device in any case.
    made.plan.stages[first + 1].replicas = made.plan.stages[first].replicas;
    made.plan.stages[first + 1].shares = made.plan.stages[first].shares;
  }

  std::mt19937 random_;
  SharedPlanOptions options_;
};

inline RandomCase shared_plan(std::uint32_t seed, const std::string& schedule, SharedPlanOptions options = {}) {
  return SharedPlans(seed, options).make(schedule);
}

}  // namespace stagecraft::testing
