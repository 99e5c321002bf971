#pragma once

#include "experiments/run/traffic.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/workload/architecture.hpp"
#include "sim/workload/device.hpp"

#include <string>

namespace stagecraft {

struct Plan;

/// What a file means, for people and for programs.
struct Description {
  std::string text;
  Detail::Record record;
};

/// Totals, the layers and cuts that stand out, and all layers in canonical order with the bytes of the cut after each.
[[nodiscard]] Description describe_model(const Model& model);

/// Kinds, devices, links, levels, and the ways from the first device to all places.
[[nodiscard]] Description describe_platform(const Platform& platform);

/// Stages with their layers and time, each device's memory by category, what crosses between stages, and all traffic.
/// **Requires** a plan without violations.
[[nodiscard]] Description describe_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const TrafficEvaluation& evaluation);

/// Counts of operators, layers, blocks, parameters and operations.
[[nodiscard]] Description describe_architecture(const Architecture& network);

/// Peak rates, memory, and what share of the peaks the cost model takes.
[[nodiscard]] Description describe_device(const DeviceDescription& device);

}  // namespace stagecraft
