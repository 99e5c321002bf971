#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/options.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// Where a family wants a stage: which device of the pipelines' chain, and in which pipeline.
struct Chunk {
  std::size_t device = 0;
  std::uint32_t pipeline = 0;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};
/// **Shape** a chunk for each stage of the plan, in the order of its stages.
using Placement = std::vector<Chunk>;

/// Stage s on device s: the placement of families that do not care.
[[nodiscard]] Placement straight_placement(std::size_t devices, const Options& parameters);

/// A schedule family is a function described by a value.
struct ScheduleFamily {
  std::string name;
  std::string summary;
  std::string source;
  bool synchronous = true;
  std::vector<OptionInfo> parameters;
  /// **Requires** a plan that `check_plan` finds without violations, memory apart, and parameters of this table.
  /// **Throws** InputError where the platform or the model cannot say what the family asks; `compile_schedule` makes
  /// it a refusal.
  Compilation (*compile)(const PlanContext& context, const Options& parameters) = nullptr;
  /// The stages of a plan that a planner cuts for a chain of that many devices.
  Placement (*placement)(std::size_t devices, const Options& parameters) = straight_placement;
};

/// Every family of the list FAMILIES in sim/schedule/CMakeLists.txt: by increasing name.
[[nodiscard]] const std::vector<const ScheduleFamily*>& all_families();
/// Null if there is none of that name.
[[nodiscard]] const ScheduleFamily* find_family(std::string_view name);
/// **Throws** InputError for an unknown name, listing the known ones and the nearest.
[[nodiscard]] const ScheduleFamily& require_family(const std::string& name);

/// What is wrong with parameters that are given to the family: a refusal for each that it does not have, or whose value
/// it cannot take.
[[nodiscard]] ScheduleRefusals parameter_refusals(const ScheduleFamily& family, const Detail::Record& given);
/// A value for every parameter of the schedule's family. **Throws** InputError for an unknown schedule, and for the
/// first of `parameter_refusals`.
[[nodiscard]] Options schedule_parameters(const ScheduleChoice& choice);

/// The plan's schedule, made ready for the plan. Unknown schedules and wrong parameters are refusals too. A stage's own
/// number of weight versions stands above what the schedule implies.
/// **Requires** a plan that `check_plan` finds without violations, memory apart.
[[nodiscard]] Compilation compile_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan);
/// The same. **Throws** InputError for what would be refused.
[[nodiscard]] ScheduleProgram require_schedule(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// As on the command line: `1f1b-star,release=asap`.
[[nodiscard]] std::string schedule_text(const ScheduleChoice& choice);

}  // namespace stagecraft
