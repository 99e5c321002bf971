#include "experiments/run/planner_view.hpp"

#include "sim/schedule/exchange_time.hpp"
#include "sim/schedule/layers_with_exchanges.hpp"

#include <memory>
#include <utility>

namespace stagecraft {

PlannerView::PlannerView(const Platform& platform, const LayerGraph& graph) : platform_(platform), graph_(graph) {
  if (graph.degrees.devices() == 1) return;
  groups_ = platform_of_groups(platform, graph.degrees.devices(), crosses_ring(graph.degrees));
  for (const DeviceId group : indices(groups_->groups)) {
    groups_->platform.devices[group].name = platform.devices[groups_->groups[group].lead()].name;
  }
  groups_->platform.members =
      std::make_shared<const MembersOfGroups>(MembersOfGroups{platform, groups_->groups, graph.degrees});
  graph_with_times_ = with_exchange_times(graph, platform, slowest_group(*groups_, platform));
}

Plan PlannerView::on_whole(Plan plan) const {
  if (!groups_) return plan;
  plan = plan_on_whole(*groups_, std::move(plan));
  plan.degrees = graph_.degrees;
  return plan;
}

DeviceId PlannerView::on_whole(DeviceId device) const { return groups_ ? groups_->groups[device].lead() : device; }

}  // namespace stagecraft
