#pragma once

#include "experiments/run/planning.hpp"
#include "sim/model/detail.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <string>
#include <vector>

namespace stagecraft {

struct Plan;
struct Stage;

/// A planner's answer as `plan --json` shows it (docs/reference/report.md). `evaluated` are the figures of the plan, if
/// there is one.
[[nodiscard]] Detail::Record planning_record(const Planning& planning, const Figures& evaluated,
                                             const Platform& platform, bool timings);

/// The same as text: the stages with the predicted and evaluated times, or the reason why there is no plan.
[[nodiscard]] std::string planning_text(const Planning& planning, const Report& evaluated, const Platform& platform,
                                        bool timings);

/// The reason why there is no plan, and on a second line, after `indent`, the changes that would lead to one.
/// **Requires** an infeasible answer.
[[nodiscard]] std::string infeasible_text(const Planning& planning, const Platform& platform,
                                          const std::string& indent);

/// `gpu0..gpu2,gpu4`: names, with sequences shortened.
[[nodiscard]] std::string devices_text(const Platform& platform, const std::vector<DeviceId>& devices);

/// The devices of a stage in the order of its all-reduce ring.
[[nodiscard]] std::vector<DeviceId> ring_of(const Stage& stage);

/// Each stage's layers, devices, memory actions, counts, time and evaluated memory (docs/reference/report.md).
[[nodiscard]] Detail::List stage_list(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                      const Figures& evaluated);

/// ` on tensor groups of 8, zero 1` (`on_groups_text`): what devices of a group and replicas divide; empty if nothing.
[[nodiscard]] std::string division_text(const Plan& plan);

/// A plan as text: its stages with the time and memory from the evaluation, and the predicted and evaluated times.
[[nodiscard]] std::string plan_text(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                                    const Report& evaluated);

}  // namespace stagecraft
