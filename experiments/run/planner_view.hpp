#pragma once

#include "experiments/run/inputs.hpp"
#include "sim/model/platform_groups.hpp"

#include <optional>

namespace stagecraft {

/// What a planner sees of a model and a platform: a device for each group, and what a group exchanges as a part of its
/// times. Such a device has the name of the group's first member. Of devices that work alone it sees the inputs
/// themselves.
class PlannerView {
 public:
  /// **Requires** a graph of the inputs' degrees; both outlive the view.
  /// **Throws** InputError as `platform_of_groups`.
  PlannerView(const Platform& platform, const LayerGraph& graph);

  [[nodiscard]] const Platform& platform() const { return groups_ ? groups_->platform : platform_; }
  [[nodiscard]] const LayerGraph& graph() const { return graph_with_times_ ? *graph_with_times_ : graph_; }
  /// A plan that was made for what the planner sees, for the whole platform.
  [[nodiscard]] Plan on_whole(Plan plan) const;
  /// The device of the whole platform after which one of the planner's is called.
  [[nodiscard]] DeviceId on_whole(DeviceId device) const;

 private:
  const Platform& platform_;
  const LayerGraph& graph_;
  std::optional<PlatformGroups> groups_;
  std::optional<LayerGraph> graph_with_times_;
};

}  // namespace stagecraft
