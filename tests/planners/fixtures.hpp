#pragma once

#include "planners/registry.hpp"
#include "planners/shared/savings/least_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::testing {

/// A chain whose layers take `times` seconds in the forward and twice as much in the backward; layer i is called
/// `l<i>`, has 100 bytes of parameters, an output of 10 bytes and a stash of 10 bytes.
inline LayerGraph chain(const std::vector<double>& times) {
  LayerGraph graph;
  graph.name = "chain";
  graph.device_kind = "A";
  graph.microbatch_size = 840;  // all small numbers of replicas divide it
  for (std::size_t i = 0; i < times.size(); ++i) {
    Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.forward = Seconds(times[i]);
    layer.backward = Seconds(2 * times[i]);
    layer.backward_weight = Seconds(times[i]);
    layer.parameters = Bytes(100);
    layer.output = layer.stash = layer.checkpoint = Bytes(10);
    graph.layers.push_back(layer);
    if (i > 0) graph.edges.push_back({LayerId(i - 1), LayerId(i), Bytes(10)});
  }
  return graph;
}

/// `count` devices of one kind `A` with `memory`, every pair joined by a link of its own.
inline Platform flat_platform(std::size_t count, double bandwidth = 100.0, Bytes memory = Bytes(1'000'000)) {
  PlatformSpec spec;
  spec.name = "flat";
  spec.device_kinds.push_back({"A", memory, 1.0, Bytes(0), std::nullopt});
  ExplicitForm form;
  for (std::size_t i = 0; i < count; ++i) form.devices.push_back({"gpu" + std::to_string(i), DeviceKindId(0), {}});
  form.default_link = LinkSpec{BytesPerSecond(bandwidth), Seconds(0)};
  spec.form = form;
  return build_platform(spec);
}

/// The planner with its paper's defaults: one pipeline, and workers of their allocation's usual size.
inline const PlannerInfo& as_in_paper(const std::string& name) {
  static std::map<std::string, PlannerInfo> planners;
  PlannerInfo& planner = planners.try_emplace(name, find_planner(name)).first->second;
  for (OptionInfo& option : planner.options) {
    if (option.name == "pipelines") option.default_value = std::int64_t{1};
    if (option.name == "size_by") option.default_value = std::string("allocation");
  }
  return planner;
}

/// Runs a planner with its default schedule.
inline PlanResult run_planner(const PlannerInfo& planner, const LayerGraph& graph, const Platform& platform,
                              const std::vector<std::pair<std::string, std::string>>& options = {},
                              std::int64_t microbatches = 8, const Training& training = {}) {
  return plan_explained(
      planner,
      {graph, platform, {planner.default_schedule, {}}, microbatches, training, parse_options(planner, options)});
}

/// What a record, or the details of a plan, must have.
inline const Detail& entry(const Detail::Record& record, const std::string& name) {
  const auto found = std::ranges::find(record, name, &Detail::Record::value_type::first);
  REQUIRE_MESSAGE(found != record.end(), name);
  return found->second;
}
inline const Detail& detail(const Planned& planned, const std::string& name) { return entry(planned.details, name); }

/// The names of each stage's layers.
inline std::vector<std::vector<std::string>> stage_names(const LayerGraph& graph, const Plan& plan) {
  std::vector<std::vector<std::string>> names;
  for (const Stage& stage : plan.stages) {
    names.emplace_back();
    for (LayerId layer : stage.layers) names.back().push_back(graph.layers[layer].name);
  }
  return names;
}

}  // namespace stagecraft::testing
