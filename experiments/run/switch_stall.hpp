#pragma once

#include "sim/base/quantity.hpp"
#include "sim/model/layer_graph.hpp"
#include "sim/model/plan.hpp"
#include "sim/model/platform.hpp"

#include <cstdint>

namespace stagecraft {

/// Two plans of a run, one after the other.
struct PlansInTurn {
  const Plan& before;
  const Plan& after;
  Seconds time_after;     ///< of an iteration of `after`, or of a microbatch if it is asynchronous
  std::int64_t run = 0;   ///< microbatches of `before`, in whole rounds of turns or iterations
  std::int64_t left = 0;  ///< microbatches from then on, at least 1
};

/// What the switch costs if the pipeline drains for it and nothing else contends: the stall (`stall_of`) of a short run
/// of both plans. It is evaluated with each copy as slow as all copies together make it on the links that they share,
/// each from when its giver and its receiver are done with the plan before. The short run has as many microbatches of
/// each plan as the steady state takes to come and go; fewer of the first one if there are fewer, else of the second
/// one. `restart`: how long all devices wait after the copies.
/// **Requires** plans of the same graph, both sound. **Cost** one or two evaluations of the shortest run that can be
/// measured, twice as long; `shared_ends` of the copies.
[[nodiscard]] Seconds switch_stall(const LayerGraph& graph, const Platform& platform, const PlansInTurn& plans,
                                   Seconds restart);

}  // namespace stagecraft
