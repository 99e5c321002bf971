#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/options.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

struct Plan;

/// The position that a family gives a stage: the device in the chain of devices, and the pipeline.
struct Chunk {
  std::size_t device = 0;
  std::uint32_t pipeline = 0;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};
/// **Shape** one chunk for each stage of the plan, in the order of the stages.
using Placement = std::vector<Chunk>;

/// Stage s on device s: the placement of families without a wish of their own.
[[nodiscard]] Placement straight_placement(std::size_t devices, const Options& parameters);

/// A pipeline whose stages lie on devices as the placement of its family has them, equally many on each.
struct FixedPipeline {
  std::int64_t devices = 1;
  std::int64_t chunks = 1;        ///< stages on each device
  std::int64_t microbatches = 1;  ///< of all its directions together
};
/// By device of the pipeline: its actions on stages and microbatches that are both counted from 0. Stages count through
/// all pipelines of the placement, microbatches in each.
using FixedOrders = std::vector<std::vector<Action>>;

/// A schedule family is a function described by a value.
struct ScheduleFamily {
  std::string name;
  std::string summary;
  std::string source;
  bool synchronous = true;
  std::vector<OptionInfo> parameters;
  /// **Requires** a plan that `check_plan` finds without violations, memory apart, and parameters of this table.
  /// **Throws** InputError if the platform or the model lacks something that the family needs; `compile_schedule` turns
  /// that into a refusal.
  Compilation (*compile)(const PlanContext& context, const Options& parameters) = nullptr;
  /// In place of `compile`, for a synchronous family whose orders depend on nothing but the numbers of a pipeline:
  /// `fixed_program` makes the program of a plan.
  FixedOrders (*orders)(const FixedPipeline& pipeline, const Options& parameters) = nullptr;
  /// With `orders`: which numbers of microbatches the pipeline needs, such as `a multiple of 4 microbatches`; empty if
  /// it can run its own. Null: any number.
  std::string (*needs)(const FixedPipeline& pipeline, const Options& parameters) = nullptr;
  /// With `orders`: the microbatches after which a long order repeats itself. Null: as many as there are devices.
  std::int64_t (*repeats)(const FixedPipeline& pipeline, const Options& parameters) = nullptr;
  /// With `orders`: a pipeline has an even number of devices.
  bool even_devices = false;
  /// Where a planner is to put the stages that it cuts for a chain of that many devices.
  Placement (*placement)(std::size_t devices, const Options& parameters) = straight_placement;
  /// With `compile`: the orders are searched with the plan's times, so nothing but a run tells how long they take.
  bool is_searched = false;
  /// Whether a formula tells the time of an iteration. Without one, planners evaluate their plans.
  [[nodiscard]] bool has_formula() const { return orders == nullptr && !is_searched; }
};

/// Every family of the list FAMILIES in sim/schedule/CMakeLists.txt, by increasing name.
[[nodiscard]] const std::vector<const ScheduleFamily*>& all_families();
/// Null if there is none of that name.
[[nodiscard]] const ScheduleFamily* find_family(std::string_view name);
/// **Throws** InputError for an unknown name, listing the known ones and the nearest.
[[nodiscard]] const ScheduleFamily& require_family(const std::string& name);

/// One refusal for each given parameter that the family does not have, or whose value it does not accept.
[[nodiscard]] ScheduleRefusals parameter_refusals(const ScheduleFamily& family, const Detail::Record& given);
/// A value for every parameter of the schedule's family. **Throws** InputError for an unknown schedule, and for the
/// first of `parameter_refusals`.
[[nodiscard]] Options schedule_parameters(const ScheduleChoice& choice);

/// Compiles the plan's schedule for the plan. Unknown schedules and wrong parameters are refusals too. If a stage gives
/// its own number of weight versions, that replaces the number which the schedule implies.
/// **Requires** a plan that `check_plan` finds without violations, memory apart.
[[nodiscard]] Compilation compile_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan);
/// The same, but **throws** InputError for the first refusal.
[[nodiscard]] ScheduleProgram require_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan);
/// The program of `plan`, where `program` is that of the plan before it was changed, for the same graph and platform.
/// A plan that is as before is not compiled again. **Throws** as `require_schedule`.
[[nodiscard]] ScheduleProgram recompiled(const LayerGraph& graph, const Platform& platform, ScheduleProgram program,
                                         const Plan& plan);

/// One refusal for the first stage whose cap is below the number of microbatches that the schedule keeps in flight
/// there. `keeps` begins its sentence: `gpipe keeps all `.
[[nodiscard]] ScheduleRefusals cap_refusals(const Plan& plan, const std::vector<std::int64_t>& in_flight,
                                            const std::string& keeps);

/// The schedule as it is written on the command line: `1f1b-star,release=asap`.
[[nodiscard]] std::string schedule_text(const ScheduleChoice& choice);

}  // namespace stagecraft
