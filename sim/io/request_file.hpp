#pragma once

#include "sim/model/detail.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace stagecraft {

/// The request to an external planner. It must not outlive the graph and the platform.
struct PlannerQuestion {
  const LayerGraph& graph;  ///< already at the microbatch size that is planned for
  const Platform& platform;
  std::optional<ScheduleChoice> schedule;  ///< none: the planner's choice
  std::int64_t microbatches = 1;
  Training training;
  Detail::Record options;
  std::string memory = "cheapest";                 ///< what a plan that does not fit may do: the name of a policy
  std::optional<std::int64_t> samples_per_update;  ///< none: as the microbatches or the schedule give
  std::optional<std::int64_t> seed;
  const Plan* running = nullptr;  ///< the plan that the answer may replace; null: none
};

/// Up to this number of devices, the bandwidth and the latency of every pair are written out.
inline constexpr std::size_t kMostPairedDevices = 256;

/// The request as one line of JSON of the schema `stagecraft/request/1` (docs/reference/formats/request.md).
/// **Cost** O(layers + edges + links + devices), and the routes of all pairs up to `kMostPairedDevices`.
[[nodiscard]] std::string write_request(const PlannerQuestion& question);

}  // namespace stagecraft
