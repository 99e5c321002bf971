#pragma once

#include "planners/planner.hpp"
#include "planners/spp/partition.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/schedule/network_model.hpp"

#include <optional>
#include <vector>

namespace stagecraft::spp {

/// What the partition knows of the platform's links.
struct UsedLinks {
  UsedBandwidths bandwidths;
  NetworkModel all_reduces = NetworkModel::Analytic;  ///< whose all-reduces a stage has
};

/// A plan, and its time with the channels and the all-reduces of the partition. If those are the analytic network's,
/// that is its time there.
struct Candidate {
  Plan plan;
  std::vector<Seconds> channels;  ///< the time of a transfer over each cut, one way
  NetworkModel all_reduces = NetworkModel::Analytic;
  Seconds load;  ///< W
  Seconds time;  ///< of an iteration
  /// The number of rounds times the longest block, plus the longest synchronisation. Only for strict `spp-pe`, for
  /// which this bound is proved.
  std::optional<Seconds> bound;
  bool exceeds_soft_bound = false;  ///< slower than (M + 4 S - 4) w + the longest synchronisation
};

/// Positions of a partition, as the platform's devices and the graph's layers.
struct PartitionShape {
  std::vector<LayerId> layers;    ///< in canonical order
  std::vector<DeviceId> devices;  ///< in the partition's order
};

/// The partition as a plan of `planner`, in which stages divide each microbatch among their replicas. It is executed
/// with the request's schedule: `spp-pe` by `run_blocks`, any other schedule by `evaluate_plan`.
[[nodiscard]] Candidate candidate(const PlannerInfo& planner, const PlanRequest& request, const Partition& partition,
                                  const PartitionShape& shape, const UsedLinks& links);

/// The candidate with the microbatches in flight of each stage limited to what its devices can hold, executed again.
/// None if some stage cannot hold even one microbatch, or if the schedule accepts no caps.
[[nodiscard]] std::optional<Candidate> capped(const PlanRequest& request, const Candidate& free);

/// The candidate with one microbatch in flight on every stage, executed again; or unchanged if the schedule accepts no
/// caps.
[[nodiscard]] Candidate lowest(const PlanRequest& request, const Candidate& free);

/// The memory (the reserved part included) with which `lowest` fits if no device has less; 0 if it fits.
[[nodiscard]] Bytes least_memory_of(const PlanRequest& request, const Candidate& free);

}  // namespace stagecraft::spp
