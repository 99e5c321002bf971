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

/// The explanation of a file, as text and as JSON.
struct Description {
  std::string text;
  Detail::Record record;
};

/// Totals, the layers and cuts that stand out, and all layers in canonical order with the bytes of the cut after each.
[[nodiscard]] Description describe_model(const Model& model);

/// Kinds, devices, links, levels, and the routes from the first device to all other devices and to its host.
[[nodiscard]] Description describe_platform(const Platform& platform);

/// Stages with their layers and time, each device's memory by category, the bytes at each boundary between stages, and
/// all traffic.
[[nodiscard]] Description describe_plan(const LayerGraph& graph, const Platform& platform,
                                        const ScheduleProgram& program, const TrafficEvaluation& evaluation);

/// Counts of operators, layers, blocks, parameters and operations.
[[nodiscard]] Description describe_architecture(const Architecture& network);

/// Peak rates, memory, and the shares of the peaks that the cost model assumes.
[[nodiscard]] Description describe_device(const DeviceDescription& device);

}  // namespace stagecraft
