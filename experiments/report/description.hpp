#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"

#include <string>

namespace stagecraft {

/// What a file means, for people and for programs.
struct Description {
  std::string text;
  Detail::Record record;
};

/// Totals, and the layers in canonical order with the bytes of the cut after each.
[[nodiscard]] Description describe_model(const Model& model);

/// Kinds, devices, links, levels, and the ways from the first device to all places.
[[nodiscard]] Description describe_platform(const Platform& platform);

/// Stages with their layers, time and memory, and what crosses between them. `evaluated` is the plan's evaluation.
/// **Requires** a plan without violations.
[[nodiscard]] Description describe_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const Report& evaluated);

}  // namespace stagecraft
