#pragma once

#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/lower.hpp"

#include <functional>

namespace stagecraft {

/// Lowers a plan and replays it on SimGrid: the sibling of `evaluate_plan`.
/// **Requires** and **Throws** as `lower`, and as `replay`.
[[nodiscard]] ReplayOutcome replay_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const LowerOptions& options = {}, const Events& events = {},
                                        bool with_timeline = false,
                                        const std::function<void(const ReplayProgress&)>& progress = {});

}  // namespace stagecraft
