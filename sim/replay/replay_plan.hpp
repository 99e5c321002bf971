#pragma once

#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/replay/replay.hpp"
#include "sim/schedule/lower.hpp"

namespace stagecraft {

struct Plan;

/// Compiles and lowers a plan and replays it on SimGrid, as `evaluate_plan` evaluates it. `replay_options.measurement`
/// is ignored: the plan determines what is measured.
/// **Requires** and **Throws** as `lower`, and as `replay`.
[[nodiscard]] ReplayOutcome replay_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                        const LowerOptions& options = {}, const Events& events = {},
                                        ReplayOptions replay_options = {});
/// The same for a plan whose schedule is compiled already, for the same graph and platform.
[[nodiscard]] ReplayOutcome replay_program(const LayerGraph& graph, const Platform& platform,
                                           const ScheduleProgram& program, const LowerOptions& options = {},
                                           const Events& events = {}, ReplayOptions replay_options = {});

}  // namespace stagecraft
