#pragma once

#include "sim/model/events.hpp"
#include "sim/model/op_graph.hpp"
#include "sim/model/platform.hpp"
#include "sim/model/timeline.hpp"

namespace stagecraft {

/// Runs the executor with a heap of instants. `evaluate` uses it when the order on a lane depends on time, or when
/// events change something. Spans arrive in the order of their starts.
void evaluate_by_events(const Platform& platform, OpSource source, const Events& events, const RunSink& sink);

}  // namespace stagecraft
