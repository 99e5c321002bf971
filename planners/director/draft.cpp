#include "planners/director/draft.hpp"

#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace stagecraft {

extern const PlannerInfo director_planner;

namespace director {

bool is_before(const Draft& a, const Draft& b) {
  return std::tie(a.schedule.name, a.pieces) < std::tie(b.schedule.name, b.pieces);
}

Planned planned_of(const PlanRequest& request, const Draft& draft) {
  const std::vector<LayerId> order = canonical_order(request.graph);
  Plan plan = empty_plan(director_planner, request);
  plan.schedule = draft.schedule;
  for (const Piece& piece : draft.pieces) {
    Stage& stage = plan.stages.emplace_back();
    stage.layers = layers_in(order, piece.begin, piece.end);
    stage.replicas = groups_of_one(piece.devices);
    if (piece.divides) stage.replication = Replication::Split;
  }
  return with_level_shares(request, with_ordered_turns(request, {std::move(plan), {}}));
}

std::optional<Draft> draft_of(const PlanRequest& request, const Plan& plan) {
  const std::vector<LayerId> order = canonical_order(request.graph);
  Draft draft{{}, plan.schedule};
  std::set<DeviceId> used;
  std::size_t begin = 0;
  for (const Stage& stage : plan.stages) {
    const std::size_t end = begin + stage.layers.size();
    if (stage.pipeline > 0 || stage.in_flight || end > order.size()) return std::nullopt;
    if (!std::equal(stage.layers.begin(), stage.layers.end(), order.begin() + static_cast<std::ptrdiff_t>(begin))) {
      return std::nullopt;
    }
    std::vector<DeviceId> devices = devices_of(stage);
    std::ranges::sort(devices);
    for (const DeviceId device : devices) {
      if (!used.insert(device).second) return std::nullopt;
    }
    const bool divides = stage.replication == Replication::Split && devices.size() > 1;
    draft.pieces.push_back({begin, end, std::move(devices), divides});
    begin = end;
  }
  if (begin != order.size()) return std::nullopt;
  return draft;
}

}  // namespace director
}  // namespace stagecraft
