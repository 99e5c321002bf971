#pragma once

#include "planners/planner.hpp"
#include "planners/shared/costs/alike_devices.hpp"
#include "sim/base/index.hpp"
#include "sim/model/plan.hpp"

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::director {

/// Layers [begin, end) of the canonical order on some devices.
struct Piece {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<DeviceId> devices;  ///< ascending
  bool divides = false;           ///< each microbatch among the devices; else whole ones take turns
  friend auto operator<=>(const Piece&, const Piece&) = default;
};

/// A flushed plan of contiguous stages, each on devices of its own, as the search changes it. Turns, shares and memory
/// actions follow from it.
struct Draft {
  std::vector<Piece> pieces;
  ScheduleChoice schedule;
  std::optional<Bytes> bucket = std::nullopt;  ///< `Training::gradient_bucket` of the plan; none: the request's
};

/// The draft with the first names among those with which it is the same, or has only other turns of replicas: of a run
/// of alike devices, of alike runs of a node and of alike nodes, the first go to the first pieces.
/// **Cost** O(devices · log devices).
[[nodiscard]] Draft with_first_names(Draft draft, const std::vector<NodeRuns>& nodes);

/// Less in a fixed order of all drafts.
[[nodiscard]] bool is_before(const Draft& a, const Draft& b);

/// The plan of a draft, with turns and shares of replicas as the shared rules give them, without memory actions.
/// **Throws** InputError if the schedule refuses it.
[[nodiscard]] Planned planned_of(const PlanRequest& request, const Draft& draft);

/// The draft of a plan; none if its stages are not contiguous, share devices or lie in several pipelines, or where
/// stages have a cap. Its turns, shares and memory actions are left out.
[[nodiscard]] std::optional<Draft> draft_of(const PlanRequest& request, const Plan& plan);

}  // namespace stagecraft::director
