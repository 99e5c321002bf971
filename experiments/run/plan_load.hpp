#pragma once

#include "experiments/run/traffic.hpp"
#include "sim/base/index.hpp"
#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/schedule/network_model.hpp"
#include "sim/schedule/schedule_program.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace stagecraft {

/// What a plan asks of its devices and links in an iteration, or per microbatch of an asynchronous run: bounds that no
/// order of its work can beat.
struct PlanLoad {
  std::vector<std::pair<DeviceId, Seconds>> devices;  ///< the time that each device of the plan computes
  /// That of the busiest device or channel of the analytic network. None for several pipelines, and if the platform
  /// lacks a route that this network needs.
  std::optional<Seconds> busiest;
  /// Asynchronous: the least replayed period, that of the busiest device, link or channel of the network that is
  /// simulated. In an evaluation links are not shared, so its period may be less.
  std::optional<Seconds> least_period;
};

/// **Requires** the traffic of the plan if its schedule is asynchronous and the network the platform's.
[[nodiscard]] PlanLoad load_of(const LayerGraph& graph, const Platform& platform, const ScheduleProgram& program,
                               NetworkModel network, const Traffic& traffic);

}  // namespace stagecraft
