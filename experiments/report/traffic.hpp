#pragma once

#include "sim/base/index.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <map>
#include <string>
#include <vector>

namespace stagecraft {

/// What is moved, and between which stages; of an all-reduce or a swap, the stage itself.
struct TrafficCause {
  OpKind kind = OpKind::Activation;
  StageId from;
  StageId to;
  friend auto operator<=>(const TrafficCause&, const TrafficCause&) = default;
};
/// `activations 0 -> 1`, `all-reduce of stage 0`.
[[nodiscard]] std::string to_string(const TrafficCause& cause);

/// Bytes that one cause moves from one place to another.
struct Flow {
  TrafficCause cause;
  PlaceId source;
  PlaceId target;
  double bytes = 0.0;  ///< of an iteration; of an asynchronous schedule, of a microbatch on average
};

/// All that a plan moves over the platform, by the rules of lowering: activations and gradients of boundaries, rings of
/// replicas, swaps. **Requires** a plan without violations. **Cost** O(boundaries · replicas²).
[[nodiscard]] std::vector<Flow> traffic(const LayerGraph& graph, const Platform& platform, const Plan& plan);

/// Bytes by cause, of all flows or of those over each link: most first, ties by cause.
using Loads = std::vector<std::pair<TrafficCause, double>>;
[[nodiscard]] Loads loads_by_cause(const std::vector<Flow>& flows);
[[nodiscard]] std::map<LinkId, Loads> loads_by_link(const Platform& platform, const std::vector<Flow>& flows);

}  // namespace stagecraft
