#pragma once

#include "planners/exhaustive/space.hpp"
#include "planners/planner.hpp"
#include "planners/shared/costs/limits.hpp"
#include "sim/base/quantity.hpp"

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace stagecraft {
extern const PlannerInfo exhaustive_planner;
}

namespace stagecraft::exhaustive {

enum class Objective { Evaluated, Predicted, Replayed };

struct SearchSettings {
  Objective objective = Objective::Evaluated;
  bool any_devices = false;  ///< any sets of devices; else in platform order
  bool use_fewer = true;
  bool round_robin = true;
  bool split = false;
  bool prune = true;  ///< skip plans that can be neither the best nor the runner-up
  double max_candidates = static_cast<double>(kMostCandidates);

  /// Whether plans are judged with the turns and shares of replicas with which users get them. Else only the answer
  /// gets these, from whoever asks.
  [[nodiscard]] bool finishes_plans() const { return any_devices || objective == Objective::Replayed; }
};

struct Candidate {
  std::vector<Stage> stages;
  double number = 0;                                      ///< in the order in which plans are looked at
  double time = std::numeric_limits<double>::infinity();  ///< iteration time or period, by the objective
};

/// The result of a search. The four counts add up to `candidates`.
struct Found {
  double candidates = 0;      ///< plans in the space
  double judged = 0;          ///< plans that fit and whose time, that of the objective, was compared
  double too_slow = 0;        ///< plans skipped because they cannot be better than the runner-up
  double too_large = 0;       ///< plans that do not fit
  double not_applicable = 0;  ///< plans with unconnected devices, or that the schedule cannot run
  std::optional<Candidate> best;
  std::optional<Candidate> runner_up;
  std::optional<Candidate> smallest;  ///< if nothing fits: the plan that needs the least memory
  Bytes least_memory;                 ///< memory with which that plan fits if no device has less
};

/// Looks at every plan of the space in a fixed order: by the number of stages, then of devices, then stage by stage by
/// the number of layers, the number of replicas, the devices, those of the first nodes first, and alternating before
/// dividing replicas. A later plan replaces an earlier one only if it is faster by more than 1e-9 of its time.
///
/// To minimise the replayed time, each plan is evaluated, which is no longer than its replay. One that evaluates faster
/// than all before it is replayed at once; the others are, by increasing evaluated time, when all have been looked at,
/// until the next one can be neither the best nor the runner-up.
/// **Throws** InputError for a space of more than `max_candidates` plans, before looking at any.
/// **Requires** for the replayed time a judge, and a schedule that flushes.
[[nodiscard]] Found search(const PlanRequest& request, const SearchSettings& settings);

/// The plans that are searched.
[[nodiscard]] Space space_of(const PlanRequest& request, const SearchSettings& settings);

/// A piece of the layers' canonical order, whose replicas have their turns by increasing device.
[[nodiscard]] Stage stage_of(const std::vector<LayerId>& order, const Piece& piece);

/// The plan of the request that consists of these stages.
[[nodiscard]] Plan plan_of(const PlanRequest& request, const std::vector<Stage>& stages);

}  // namespace stagecraft::exhaustive
