#include "planners/director/draft.hpp"

#include "planners/shared/turns/level_shares.hpp"
#include "planners/shared/turns/turn_order.hpp"
#include "sim/model/graph_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace stagecraft {

extern const PlannerInfo director_planner;

namespace director {

namespace {

/// The piece of each device: of a run, of a node, of all nodes.
using Owners = std::vector<std::size_t>;

/// Sorts those that follow each other and are alike.
void sort_alike(std::vector<Owners>& all, const auto& is_like_last) {
  for (std::size_t first = 0; first < all.size();) {
    std::size_t end = first + 1;
    while (end < all.size() && is_like_last(end)) ++end;
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(first), all.begin() + static_cast<std::ptrdiff_t>(end));
    first = end;
  }
}

Owners joined(const std::vector<Owners>& parts) {
  Owners all;
  for (const Owners& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

Draft with_first_names(Draft draft, const std::vector<NodeRuns>& nodes) {
  const std::size_t none = draft.pieces.size();
  std::map<DeviceId, std::size_t> owners;
  for (std::size_t piece = 0; piece < none; ++piece) {
    for (const DeviceId device : draft.pieces[piece].devices) owners[device] = piece;
    draft.pieces[piece].devices.clear();
  }
  std::vector<Owners> by_node;
  std::uint32_t device = 0;
  for (const NodeRuns& node : nodes) {
    std::vector<Owners> by_run;
    for (const std::size_t size : node.sizes) {
      Owners& of_run = by_run.emplace_back(size, none);
      for (std::size_t& owner : of_run) {
        const auto found = owners.find(DeviceId(device++));
        if (found != owners.end()) owner = found->second;
      }
      std::ranges::sort(of_run);
    }
    sort_alike(by_run, [&](std::size_t run) { return !node.are_like_last.empty() && node.are_like_last[run] != 0; });
    by_node.push_back(joined(by_run));
  }
  sort_alike(by_node, [&](std::size_t node) { return nodes[node].is_like_last; });
  device = 0;
  for (const std::size_t piece : joined(by_node)) {
    if (piece < none) draft.pieces[piece].devices.emplace_back(device);
    ++device;
  }
  return draft;
}

bool is_before(const Draft& a, const Draft& b) {
  return std::tie(a.schedule.name, a.bucket, a.pieces) < std::tie(b.schedule.name, b.bucket, b.pieces);
}

Planned planned_of(const PlanRequest& request, const Draft& draft) {
  const std::vector<LayerId> order = canonical_order(request.graph);
  Plan plan = empty_plan(director_planner, request);
  plan.schedule = draft.schedule;
  if (draft.bucket) plan.training.gradient_bucket = draft.bucket;
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
  Draft draft{{}, plan.schedule, plan.training.gradient_bucket};
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
