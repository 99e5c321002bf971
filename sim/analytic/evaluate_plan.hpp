#pragma once

#include "sim/model/events.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/model/timeline.hpp"
#include "sim/schedule/lower.hpp"

#include <functional>

namespace stagecraft {

struct Plan;

/// Compiles, lowers and evaluates a plan: its figures without contention. `watch`, if given, gets all spans too.
/// **Requires** and **Throws** as `lower`.
[[nodiscard]] Report evaluate_plan(const LayerGraph& graph, const Platform& platform, const Plan& plan,
                                   const LowerOptions& options = {}, const Events& events = {},
                                   const RunWatch& watch = {});
/// The same for a plan whose schedule is compiled already, for the same graph and platform.
[[nodiscard]] Report evaluate_program(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      const LowerOptions& options = {}, const Events& events = {},
                                      const RunWatch& watch = {});
/// The same with `Report::bound`, if the run is asynchronous.
[[nodiscard]] Report evaluate_with_bound(const LayerGraph& graph, const Platform& platform,
                                         const ScheduleProgram& program, const LowerOptions& options = {},
                                         RunWatch watch = {});
/// The figures of the plan's steady state: an asynchronous run is extended until its period has converged
/// (`run_until_converged`), with the bound of the shortest run. `options.head` is that of the run. `watch`, if given,
/// is asked for what watches a run before it begins.
[[nodiscard]] Report evaluate_until_converged(
    const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program, const LowerOptions& options = {},
    const std::function<RunWatch(const ScheduleProgram& run)>& watch = nullptr);
/// The time of an iteration alone, which takes a search less time than a report: its `iterations.back()`.
/// **Requires** a synchronous program.
[[nodiscard]] Seconds evaluate_iteration(const LayerGraph& graph, const Platform& platform,
                                         const ScheduleProgram& program);

}  // namespace stagecraft
