#pragma once

#include "planners/planner.hpp"
#include "planners/shared/limits.hpp"
#include "sim/base/quantity.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace stagecraft {
extern const PlannerInfo exhaustive_planner;
}

namespace stagecraft::exhaustive {

enum class Objective { Evaluated, Predicted };

struct SearchSettings {
  Objective objective = Objective::Evaluated;
  bool use_fewer = true;
  bool round_robin = true;
  bool split = false;
  bool prune = true;  ///< skip what can be neither the best plan nor the runner-up
  double max_candidates = static_cast<double>(kMostCandidates);
};

struct Candidate {
  std::vector<Stage> stages;
  double time = std::numeric_limits<double>::infinity();  ///< by the objective: an iteration, or a period
};

/// What a search found; the counts add up to `candidates`.
struct Found {
  double candidates = 0;      ///< plans in the space
  double judged = 0;          ///< ran, and their time was compared
  double too_slow = 0;        ///< skipped: cannot be better than the runner-up
  double too_large = 0;       ///< do not fit
  double not_applicable = 0;  ///< break a rule: unconnected devices, a schedule that cannot run them
  std::optional<Candidate> best;
  std::optional<Candidate> runner_up;
  std::optional<Candidate> smallest;  ///< where nothing fits: the plan that needs least memory
  Bytes least_memory;                 ///< with which that plan fits if no device has less
};

/// Looks at every plan of the space in a fixed order: fewer stages first, then fewer devices, then stage by stage fewer
/// layers, fewer replicas, alternating before dividing. A later plan takes the place of an earlier one only if it is
/// faster by more than 1e-9 of its time.
/// **Throws** InputError for a space of more than `max_candidates`, before looking at any.
[[nodiscard]] Found search(const PlanRequest& request, const SearchSettings& settings);

/// The plan that consists of these stages.
[[nodiscard]] Plan plan_of(const PlanRequest& request, const std::vector<Stage>& stages);

}  // namespace stagecraft::exhaustive
