#include "sim/workload/retimed_profile.hpp"

#include "sim/workload/build_model.hpp"
#include "sim/workload/layer_times.hpp"
#include "sim/workload/network_costs.hpp"

#include <utility>

namespace stagecraft {

RetimedProfile retimed_profile(const Architecture& architecture, const DeviceDescription& device,
                               std::int64_t microbatch_size, Granularity granularity, const Degrees& degrees) {
  Model model = build_model(architecture, device, microbatch_size, granularity, degrees);
  RetimedProfile profile{member_of(architecture, degrees), {}, std::move(model.profiles.front())};
  profile.operators = operators_of_layers(profile.member, granularity);
  retime(profile, device);
  return profile;
}

void retime(RetimedProfile& profile, const DeviceDescription& device) {
  LayerGraph& graph = profile.graph;
  const auto costs = network_costs(profile.member, device, graph.microbatch_size, graph.degrees.tensor);
  const LayerCosts of{profile.member, costs, device.precision, graph.microbatch_size, TimeGrid::Exact};
  for (const LayerId id : indices(graph.layers)) set_times(graph.layers[id], profile.operators[id], of);
}

}  // namespace stagecraft
