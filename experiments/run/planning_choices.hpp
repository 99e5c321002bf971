#pragma once

#include "planners/planner.hpp"
#include "sim/model/degrees.hpp"
#include "sim/model/schedule_choice.hpp"
#include "sim/model/training_choice.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The user's choices for a planner. The comment of an optional field gives its default.
struct PlanningChoices {
  std::optional<ScheduleChoice> schedule;    ///< the planner's own
  std::optional<std::int64_t> microbatches;  ///< 4 × devices; asynchronous runs at least as many as can be measured
  std::optional<std::int64_t> global_batch;  ///< samples; instead of `microbatches`
  /// Samples whose gradients an update sums up; instead of `microbatches`. As many as these give, or for an
  /// asynchronous schedule one round.
  std::optional<std::int64_t> samples_per_update;
  std::optional<std::int64_t> run_length;       ///< microbatches of an asynchronous run, exactly; as `microbatches`
  std::optional<std::int64_t> microbatch_size;  ///< the model's
  /// In place of `microbatch_size`: the size with the fastest plan (`plan_at_chosen_size`). It needs `global_batch` or
  /// `samples_per_update`.
  bool fastest_size = false;
  Degrees degrees = {};  ///< into how many devices each replica is divided
  /// In place of `degrees.tensor`: the degree with the fastest plan (`plan_at_chosen_degrees`).
  bool fastest_degrees = false;
  std::int64_t iterations = 1;                   ///< to simulate; a run that is too long is refused before planning
  MemoryPolicy memory = MemoryPolicy::Cheapest;  ///< what a plan that does not fit may do with stashes
  TrainingChoice training;
  std::vector<std::pair<std::string, std::string>> options;  ///< of the planner
};

}  // namespace stagecraft
