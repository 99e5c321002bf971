#pragma once

#include "planners/planner.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace stagecraft::pipedream {

/// Rounds between two updates, with which plans are sought whose stages have no more replicas than that.
struct RoundsToTry {
  std::int64_t rounds = 1;
  std::size_t most_replicas = std::numeric_limits<std::size_t>::max();
};

/// What to plan with so that an update of an asynchronous plan sums up the samples that are asked for. First one round,
/// as published; then for each number of replicas, in ascending order, the rounds with which a stage of so many has
/// them, if that is a whole number. Only the first if no number is asked for, if the schedule flushes, or if the number
/// is no multiple of a microbatch's samples.
/// **Cost** O(devices).
[[nodiscard]] std::vector<RoundsToTry> rounds_to_try(const PlanRequest& request);

/// The rounds after which the plan updates its weights. If samples are asked for, as many as give that number in the
/// stage with the most. Otherwise 1; with `two_versions` the least with which a microbatch meets at most one update
/// between its forward and the update with its own gradients, so that two versions of the weights are enough. None if
/// no number of rounds has the samples that are asked for, or if two versions are not enough with it.
/// **Requires** a plan that its schedule can run, with one round for each update.
[[nodiscard]] std::optional<std::int64_t> rounds_of(const PlanRequest& request, const Plan& plan, bool two_versions);

/// Refuses samples for which an asynchronous plan needs more than two versions of its weights.
/// **Requires** a plan as `rounds_of`. **Throws** InputError, with the least number that is possible.
void require_two_versions(const PlanRequest& request, const Plan& plan);

}  // namespace stagecraft::pipedream
