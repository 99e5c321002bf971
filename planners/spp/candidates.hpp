#pragma once

#include "planners/planner.hpp"
#include "planners/spp/partition.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"

#include <optional>
#include <vector>

namespace stagecraft::spp {

/// A plan with what its execution on the analytic network takes.
struct Candidate {
  Plan plan;
  Seconds load;  ///< W
  Seconds time;  ///< of an iteration
  /// Rounds times the longest block and the longest synchronisation; only of `spp-pe`, strict, where it is proved.
  std::optional<Seconds> bound;
  bool exceeds_soft_bound = false;  ///< slower than (M + 4 S - 4) w + the longest synchronisation
};

/// The partition as a plan of `planner`, stages dividing each microbatch among their replicas, and executed in the
/// request's schedule: `spp-pe` by `executed_time`, any other by `evaluate`.
/// **Shape** `layers` in canonical order, `devices` in the partition's order.
[[nodiscard]] Candidate candidate(const PlannerInfo& planner, const PlanRequest& request, const Partition& partition,
                                  const std::vector<LayerId>& layers, const std::vector<DeviceId>& devices);

/// The candidate with each stage's microbatches in flight limited to what its devices can hold, and executed again;
/// none if some stage cannot hold a single one, or if the schedule keeps no caps.
[[nodiscard]] std::optional<Candidate> capped(const PlanRequest& request, const Candidate& free);

/// The candidate's plan with one microbatch in flight on every stage; as it is if the schedule keeps no caps.
[[nodiscard]] Plan lowest_plan(const PlanRequest& request, const Candidate& free);

/// The memory (what is reserved included) with which `lowest_plan` fits if no device has less; 0 if it fits.
[[nodiscard]] Bytes least_memory_of(const PlanRequest& request, const Candidate& free);

}  // namespace stagecraft::spp
