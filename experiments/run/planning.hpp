#pragma once

#include "experiments/run/inputs.hpp"
#include "experiments/run/planning_choices.hpp"
#include "experiments/run/size_search.hpp"
#include "planners/planner.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/report.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft {

/// A planner's answer.
struct Planning {
  const PlannerInfo* planner = nullptr;  ///< outlives this
  LayerGraph graph;                      ///< at the microbatch size planned for
  PlanResult result;
  std::optional<ScheduleProgram> program;  ///< of the plan, if there is one
  Seconds time;                            ///< that the planner took
  /// If there is no plan: the largest smaller microbatch size with a plan (`Infeasible::sizes_to_try`). None if there
  /// is no such size, or if planning is too costly to repeat.
  std::optional<std::int64_t> largest_microbatch_size;

  [[nodiscard]] const Planned* planned() const { return std::get_if<Planned>(&result); }
};

/// Checks a planner's plan. A plan that breaks a rule is a bug of this program (InternalError). Exceptions are the
/// user's choices (InputError): a schedule or length that does not fit, and a platform without a route that the planner
/// assumes.
void require_sound(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program);

/// **Throws** InputError as `make_plan` does before it plans, for example for a global batch that is no multiple of the
/// microbatch size; if the fastest size is sought, only as `check_size_choice`, and if the fastest groups are, nothing
/// more.
void check_choices(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices);

/// **Throws** InputError if the fastest microbatch size is sought (`PlanningChoices::fastest_size`) and neither the
/// samples of an iteration nor those of an update are given.
void check_size_choice(const PlanningChoices& choices);

/// Plans, and checks the plan.
/// **Throws** InputError for choices that make no sense; InternalError if a planner of this program breaks a rule.
[[nodiscard]] Planning make_plan(const PlannerInfo& planner, const Inputs& inputs, const PlanningChoices& choices,
                                 const std::function<void(const std::string&)>& say);

/// `2 of 8 devices stand idle`; empty if the plan uses them all.
[[nodiscard]] std::string idle_devices_text(const Plan& plan, const Platform& platform);

/// Tells the user what a comparison shows in columns and notes: what the plan recomputes and swaps, and devices that
/// stand idle.
void tell_plan(const Planning& planning, const Platform& platform, const std::function<void(const std::string&)>& say);

/// A plan that may not fit.
struct DespiteMemory {
  Planning planning;
  std::optional<Bytes> memory;  ///< of every device that has less: it was made for this; none: for as much as it wants
};

/// The plan that the planner would make, after it found `none`, if every device had the least memory with which there
/// is a plan. Where `none` does not tell it, that for devices with as much memory as the plan wants.
[[nodiscard]] DespiteMemory plan_despite_memory(const PlannerInfo& planner, const Inputs& inputs,
                                                const PlanningChoices& choices, const Infeasible& none,
                                                const std::function<void(const std::string&)>& say);

/// The same as `make_plan` for microbatches of `size` samples. If there is no plan, it is not sought what would lead to
/// one.
[[nodiscard]] Planning plan_at_size(const PlannerInfo& planner, const Inputs& inputs, PlanningChoices choices,
                                    std::int64_t size, const std::function<void(const std::string&)>& say);

/// The run of a plan without contention: `run_length` microbatches of an asynchronous one, or by default until its
/// period has converged. **Requires** a plan.
[[nodiscard]] Report evaluate_planning(const Planning& planning, const Platform& platform,
                                       const std::optional<std::int64_t>& run_length);

/// The samples per second by which plans of one planner are compared: those of this run, or those of the replay where
/// the planner has replayed its plan. **Requires** a plan.
[[nodiscard]] double compared_throughput(const Planning& planning, const Report& evaluated);

/// What an answer tells a search for the largest size.
[[nodiscard]] SizeAnswer size_answer(const Planning& planning);

/// The microbatch sizes below `end` that the user's choices allow: those of which a global batch or an update is a
/// multiple.
[[nodiscard]] std::vector<std::int64_t> sizes_to_choose(const PlanningChoices& choices, std::int64_t end);

/// `PlannerInfo::surely_plans` of a microbatch size; empty if the planner cannot tell. The planner and the inputs must
/// outlive it.
[[nodiscard]] std::function<bool(std::int64_t size)> quick_test(const PlannerInfo& planner, const Inputs& inputs,
                                                                const PlanningChoices& choices);

}  // namespace stagecraft
