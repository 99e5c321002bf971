#pragma once

#include "sim/model/plan.hpp"
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

/// A parameter of a schedule family, in `ScheduleChoice::parameters`.
struct ScheduleParameter {
  std::string_view name;
  std::string_view description;
  Detail default_value;
};

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
};

/// By increasing name; `literal` is among them.
[[nodiscard]] const std::vector<const ScheduleInfo*>& all_schedules();
/// Null if there is none of that name.
[[nodiscard]] const ScheduleInfo* find_schedule(std::string_view name);

/// What a plan keeps: its own figure if it names one, else what its schedule implies.
[[nodiscard]] std::int64_t weight_versions(const Plan& plan, StageId stage);
[[nodiscard]] std::int64_t in_flight(const Plan& plan, StageId stage);

extern const ScheduleInfo gpipe_schedule;
extern const ScheduleInfo one_f_one_b_schedule;
extern const ScheduleInfo pipedream_schedule;
/// Each device's order is given (`LowerOptions::literal`).
extern const ScheduleInfo literal_schedule;

}  // namespace stagecraft
