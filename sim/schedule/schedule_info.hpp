#pragma once

#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft {

/// A piece of a run: the microbatches whose backwards it holds. The pieces of a partition of [0, microbatches), one
/// after the other, are the whole order of every device; forwards come with the first piece that needs them.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// A parameter of a schedule family, in `ScheduleChoice::parameters`: a word.
struct ScheduleParameter {
  std::string_view name;
  std::string_view description;
  Detail default_value;
  std::vector<std::string> choices = {};  ///< the words it may be
  bool takes_time = false;                ///< or a time of more than zero, with its unit
};
/// `timed|asap`, `time|least`.
[[nodiscard]] std::string type_name(const ScheduleParameter& parameter);

/// A schedule family: a name, what it implies, and a function that builds each device's order.
struct ScheduleInfo {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  bool synchronous = true;
  std::vector<ScheduleParameter> parameters;

  /// Why this family cannot run the plan, if so: a sentence for the user.
  std::optional<std::string> (*problem)(const Plan& plan) = nullptr;
  /// Copies of the weights each replica of a stage keeps, unless the plan says otherwise.
  std::int64_t (*weight_versions)(const Plan& plan, StageId stage) = nullptr;
  /// Largest number of microbatches in flight on one replica of a stage, the plan's cap included.
  std::int64_t (*in_flight)(const Plan& plan, StageId stage) = nullptr;
  /// The orders of all devices in a segment of one iteration, or of the run if asynchronous.
  Schedule (*build)(const Plan& plan, Segment segment) = nullptr;
  /// Whether the first segment has the orders of all, so that memory grows with the microbatches; null: never.
  bool (*builds_at_once)(const Plan& plan) = nullptr;
  /// The plan with what the family works out beforehand, such as a pattern, from the model and the platform; null if
  /// there is nothing of the kind. See `prepared`. **Throws** InputError for parameters that do not fit them.
  Plan (*prepare)(const LayerGraph& graph, const Platform& platform, Plan plan) = nullptr;
  bool runs_pattern = false;  ///< plans of this schedule run their pattern
};

/// By increasing name; `literal` is among them.
[[nodiscard]] const std::vector<const ScheduleInfo*>& all_schedules();
/// Null if there is none of that name.
[[nodiscard]] const ScheduleInfo* find_schedule(std::string_view name);

/// What a plan keeps: its own figure if it names one, else what its schedule implies.
[[nodiscard]] std::int64_t weight_versions(const Plan& plan, StageId stage);
[[nodiscard]] std::int64_t in_flight(const Plan& plan, StageId stage);

/// The plan, made ready to be built, measured and judged by its schedule's family: counts in flight and weight versions
/// are those of the run. The same plan if it is ready, if the family needs nothing, or if it cannot run it
/// (`ScheduleInfo::problem`, `parameter_problem`).
/// **Throws** InputError for what the plan asks of the schedule and cannot have on this platform.
[[nodiscard]] Plan prepared(const LayerGraph& graph, const Platform& platform, Plan plan);

/// Whether the plan has a pattern and its schedule runs it.
[[nodiscard]] bool runs_pattern(const Plan& plan);

struct ParameterProblem {
  std::string message;
  std::string hint;  ///< empty if there is none
};
/// What is wrong with a parameter that is given to the schedule; none if it is one of its own with a value it may have.
[[nodiscard]] std::optional<ParameterProblem> parameter_problem(const ScheduleInfo& schedule, const std::string& name,
                                                                const Detail& value);
/// The word, given or by default. **Requires** parameters without problems.
[[nodiscard]] std::string parameter(const ScheduleChoice& choice, std::string_view name);

/// As on the command line: `1f1b-star,release=asap`.
[[nodiscard]] std::string schedule_text(const ScheduleChoice& choice);

extern const ScheduleInfo eager_one_f_one_b_schedule;
extern const ScheduleInfo gpipe_schedule;
extern const ScheduleInfo one_f_one_b_schedule;
extern const ScheduleInfo one_f_one_b_star_schedule;
extern const ScheduleInfo pipedream_schedule;
extern const ScheduleInfo spp_pe_schedule;
/// Each device's order is given (`LowerOptions::literal`).
extern const ScheduleInfo literal_schedule;

}  // namespace stagecraft
